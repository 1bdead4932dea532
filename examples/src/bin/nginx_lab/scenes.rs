//! What is sent through nginx, and what was promised of it.

use std::time::Duration;

use deadline_runtime::Cause;

use crate::api::{Api, End, Entry, SLOTS};
use crate::client::{Answer, Client};
use crate::nginx::Nginx;
use crate::row::Row;

const PATIENCE: Duration = Duration::from_secs(10);

type Outcome = Result<Row, Box<dyn std::error::Error>>;

pub struct Lab<'l> {
    api: &'l Api,
    nginx: &'l Nginx,
    client: Client,
}

/// A request that was alone.
struct Single {
    row: Row,
    answer: Option<Answer>,
    entries: Vec<Entry>,
}

impl<'l> Lab<'l> {
    pub fn new(api: &'l Api, nginx: &'l Nginx) -> Result<Self, Box<dyn std::error::Error>> {
        let client = Client::new(nginx.address)?;
        Ok(Self { api, nginx, client })
    }

    pub async fn all(&self) -> Result<Vec<Row>, Box<dyn std::error::Error>> {
        Ok(vec![
            self.fast().await?,
            self.slow().await?,
            self.client_leaves().await?,
            self.more_than_slots().await?,
            self.conflicting_headers().await?,
            self.clamped("less", "700", "700").await?,
            self.clamped("more", "60000", "1500").await?,
            self.clamped("sign", "+5", "1500").await?,
            self.stripped().await?,
        ])
    }

    async fn fast(&self) -> Outcome {
        let Single {
            mut row,
            answer,
            entries,
        } = self.single("fast", "/?ms=50", &[], PATIENCE).await?;
        row.promise("200", status(answer.as_ref()) == 200);
        row.promise(
            "the dependency is told what is left",
            told(&entries, "dependency").is_some_and(|ms| (1_000..=1_425).contains(&ms)),
        );
        Ok(row)
    }

    async fn slow(&self) -> Outcome {
        let Single {
            mut row,
            answer,
            entries,
        } = self.single("slow", "/?ms=4000", &[], PATIENCE).await?;
        let answer = answer.as_ref();
        row.promise(
            "504 from the API, with the cause, before the 3 s of nginx",
            answer.is_some_and(|answer| {
                answer.status == 504
                    && answer.cause == "dependency_timeout"
                    && answer.content_type == "application/problem+json"
                    && (1_000..2_500).contains(&answer.after.as_millis())
            }),
        );
        row.promise(
            "the dependency stopped as well",
            end(&entries, "dependency") == Some(End::Stopped(Some(Cause::DeadlineExceeded))),
        );
        Ok(row)
    }

    async fn client_leaves(&self) -> Outcome {
        let patience = Duration::from_millis(300);
        let Single {
            mut row,
            answer,
            entries,
        } = self.single("leaves", "/?ms=4000", &[], patience).await?;
        row.asked.push_str(", gone after 300 ms");
        row.promise(
            "nobody is answered, and nginx says 499",
            answer.is_none() && row.logged == "499",
        );
        let gone = Some(End::Stopped(Some(Cause::ClientCancelled)));
        row.promise(
            "handler and dependency stopped, and know why",
            end(&entries, "api") == gone && end(&entries, "dependency") == gone,
        );
        Ok(row)
    }

    async fn more_than_slots(&self) -> Outcome {
        const CLIENTS: usize = 12;
        let ids: Vec<String> = (0..CLIENTS).map(|n| format!("crowd-{n}")).collect();
        let requests = ids
            .iter()
            .map(|id| self.client.get(id, "/?ms=1000", &[], PATIENCE));
        let mut answers = Vec::new();
        for answer in futures::future::join_all(requests).await {
            answers.extend(answer?);
        }
        let of = |wanted: u16| {
            let of = answers.iter().filter(move |answer| answer.status == wanted);
            of.collect::<Vec<_>>()
        };
        let (served, refused) = (of(200), of(503));
        let mut handlers = 0;
        for id in &ids {
            let entries = self.api.settled(id).await;
            handlers += entries
                .iter()
                .filter(|entry| entry.service == "api")
                .count();
        }
        let mut row = Row {
            asked: format!("{CLIENTS} at once: /?ms=1000, {SLOTS} slots"),
            answered: format!("{} x 200, {} x 503", served.len(), refused.len()),
            told: "1500".to_owned(),
            handlers: format!("{handlers} api"),
            ..Row::default()
        };
        row.promise(
            "as many are served as there are slots, the others are refused",
            (served.len(), refused.len(), handlers) == (SLOTS, CLIENTS - SLOTS, SLOTS),
        );
        row.promise(
            "a refusal says why and when to come again, and comes before anybody is served",
            refused.iter().all(|answer| {
                answer
                    .retry_after
                    .parse::<u64>()
                    .is_ok_and(|seconds| seconds >= 1)
                    && answer.cause == "overload"
                    && served.iter().all(|served| answer.after < served.after)
            }),
        );
        Ok(row)
    }

    async fn conflicting_headers(&self) -> Outcome {
        let Single {
            mut row,
            answer,
            entries,
        } = self
            .single("twice", "/?ms=50", &["100", "99999"], PATIENCE)
            .await?;
        row.promise("200", status(answer.as_ref()) == 200);
        row.promise(
            "one copy arrives, and it is the edge's",
            all_told(&entries, "api") == ["1500"],
        );
        Ok(row)
    }

    async fn clamped(&self, id: &str, asked: &str, expected: &str) -> Outcome {
        let Single {
            mut row,
            answer,
            entries,
        } = self
            .single(id, "/inside/?ms=50", &[asked], PATIENCE)
            .await?;
        row.promise(
            "inside, less is granted, more and nonsense are not",
            status(answer.as_ref()) == 200 && all_told(&entries, "api") == [expected],
        );
        Ok(row)
    }

    async fn stripped(&self) -> Outcome {
        let Single {
            mut row,
            answer,
            entries,
        } = self
            .single("bare", "/stripped/?ms=50", &["100"], PATIENCE)
            .await?;
        row.promise("200", status(answer.as_ref()) == 200);
        row.promise(
            "no header arrives, and the API's own default of 2 s counts",
            all_told(&entries, "api").is_empty()
                && told(&entries, "dependency").is_some_and(|ms| (1_500..=1_900).contains(&ms)),
        );
        Ok(row)
    }

    async fn single(
        &self,
        id: &str,
        path: &str,
        timeouts: &[&str],
        patience: Duration,
    ) -> Result<Single, Box<dyn std::error::Error>> {
        let answer = self.client.get(id, path, timeouts, patience).await?;
        let logged = self.nginx.logged(id).await;
        let entries = self.api.settled(id).await;
        let mut asked = path.to_owned();
        if !timeouts.is_empty() {
            asked = format!("{asked} with {}", timeouts.join(" and "));
        }
        let handlers = entries.iter().map(|entry| {
            let end = match entry.end {
                None => "STILL RUNNING",
                Some(End::Done) => "done",
                Some(End::Stopped(cause)) => {
                    cause.map_or("passed a stop on", |cause| cause.as_str())
                }
            };
            format!("{} {end}", entry.service)
        });
        let told = all_told(&entries, "api").join(" and ");
        let row = Row {
            asked,
            answered: Answer::text(answer.as_ref()),
            told: if told.is_empty() {
                "-".to_owned()
            } else {
                told
            },
            handlers: handlers.collect::<Vec<_>>().join(", "),
            logged,
            ..Row::default()
        };
        Ok(Single {
            row,
            answer,
            entries,
        })
    }
}

fn status(answer: Option<&Answer>) -> u16 {
    answer.map_or(0, |answer| answer.status)
}

fn of<'e>(entries: &'e [Entry], service: &str) -> Option<&'e Entry> {
    entries.iter().find(|entry| entry.service == service)
}

fn all_told(entries: &[Entry], service: &str) -> Vec<String> {
    of(entries, service).map_or_else(Vec::new, |entry| entry.told.clone())
}

fn told(entries: &[Entry], service: &str) -> Option<u64> {
    of(entries, service)?.told.first()?.parse().ok()
}

fn end(entries: &[Entry], service: &str) -> Option<End> {
    of(entries, service)?.end
}

pub fn ms(duration: Duration) -> String {
    format!("{} ms", duration.as_millis())
}
