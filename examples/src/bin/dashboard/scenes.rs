//! The scenes: each asks for something, watches every hop, and says whether what was promised happened.
//!
//! Real time on real sockets: the slack is wide, because the machine may be busy.

use std::io;
use std::time::Duration;

use crate::client::{self, Answer};
use crate::journal::HopEntry;
use crate::row::{Row, millis};
use crate::services::{Addresses, World, chain, invoices};

/// How long a client waits that has all the time.
const PATIENCE: Duration = Duration::from_secs(3);
/// What a busy machine may add to anything.
const SLACK: Duration = Duration::from_millis(250);
/// How long a hop may take to notice that it has to stop.
const LAG: Duration = Duration::from_millis(150);

pub struct Stage<'a> {
    world: &'a World,
    at: Addresses,
}

impl<'a> Stage<'a> {
    pub fn new(world: &'a World, at: Addresses) -> Self {
        Self { world, at }
    }

    pub async fn all(&self) -> io::Result<Vec<Row>> {
        Ok(vec![
            self.all_fast().await?,
            self.one_slow().await?,
            self.expired_on_arrival().await?,
            self.part_used().await?,
            self.client_leaves().await?,
            self.four_hops().await?,
            self.bad_headers().await?,
            self.cpu_heavy().await?,
            self.before_a_write().await?,
            self.observed().await?,
        ])
    }

    async fn all_fast(&self) -> io::Result<Row> {
        let mut row = Row::new("a. all fast", "GET /, x-request-timeout-ms: 3000");
        let (answer, hops) = self
            .ask(&mut row, "a", "GET /", Some("3000"), PATIENCE)
            .await?;
        row.promise("200", status(answer.as_ref()) == 200);
        row.promise(
            "every hop finished",
            hops.len() == 4 && hops.iter().all(|hop| hop.finished),
        );
        row.promise(
            "what the gateway sent on is its maximum less its reserve, or less",
            granted(&hops, "orders") <= Some(1_400),
        );
        Ok(row)
    }

    async fn one_slow(&self) -> io::Result<Row> {
        let mut row = Row::new(
            "b. one dependency is slow",
            "GET /?ms=4000, x-request-timeout-ms: 3000; the client waits 3 s",
        );
        let (answer, hops) = self
            .ask(&mut row, "b", "GET /?ms=4000", Some("3000"), PATIENCE)
            .await?;
        let after = answer.as_ref().map_or(PATIENCE, |answer| answer.after);
        if let Some(answer) = &answer {
            row.note(format!(
                "content-type: {}",
                answer.header("content-type").unwrap_or("none")
            ));
            row.note(answer.body.trim());
        }
        row.promise(
            "a structured 504: the orders say that they used up what they were given",
            structured(answer.as_ref(), 504, "dependency_timeout"),
        );
        row.promise(
            "at about 1.4 s, inside the client's patience",
            within(after, 1_380),
        );
        row.promise(
            "the query in the database was stopped as well",
            stopped(&hops, "database", 1_400),
        );
        Ok(row)
    }

    async fn expired_on_arrival(&self) -> io::Result<Row> {
        let mut row = Row::new("c. expired on arrival", "GET /, x-request-timeout-ms: 0");
        let (answer, hops) = self
            .ask(&mut row, "c", "GET /", Some("0"), PATIENCE)
            .await?;
        row.promise(
            "504 deadline_exceeded",
            structured(answer.as_ref(), 504, "deadline_exceeded"),
        );
        row.promise(
            "at once",
            answer.as_ref().is_some_and(|answer| answer.after < SLACK),
        );
        row.promise(
            "0 calls to dependencies, the handler was not entered",
            hops.is_empty(),
        );
        Ok(row)
    }

    async fn part_used(&self) -> io::Result<Row> {
        let mut row = Row::new(
            "d. part of the budget is used at hop one",
            "GET /?first=600, x-request-timeout-ms: 1000",
        );
        let (answer, hops) = self
            .ask(&mut row, "d", "GET /?first=600", Some("1000"), PATIENCE)
            .await?;
        row.promise("200", status(answer.as_ref()) == 200);
        let rest = granted(&hops, "orders");
        row.promise(
            "hop two received only the rest: 1000 less 600 less the reserve of 100",
            rest <= Some(300) && rest > Some(0),
        );
        Ok(row)
    }

    async fn client_leaves(&self) -> io::Result<Row> {
        let mut row = Row::new(
            "e. the client leaves during the fan-out",
            "GET /?ms=4000, gone after 200 ms",
        );
        let (answer, hops) = self
            .ask(
                &mut row,
                "e",
                "GET /?ms=4000",
                Some("3000"),
                Duration::from_millis(200),
            )
            .await?;
        for hop in row.hops.iter().filter(|hop| !hop.finished) {
            let lag = hop
                .ended
                .map(|ended| millis(ended.saturating_sub(Duration::from_millis(200))));
            let lag = lag.unwrap_or_else(|| "never".into());
            row.notes.push(format!(
                "{} stopped {lag} after the client had left",
                hop.name
            ));
        }
        row.promise("nobody is answered", answer.is_none());
        row.promise(
            "gateway, orders and database stopped",
            ["gateway", "orders", "database"]
                .iter()
                .all(|hop| stopped(&hops, hop, 200)),
        );
        Ok(row)
    }

    async fn four_hops(&self) -> io::Result<Row> {
        const LEAVES: Duration = Duration::from_secs(1);
        let mut row = Row::new(
            "f. four hops with timeouts of their own, and under one deadline (times scaled down by ten)",
            "GET / at hop 1; each hop works 750 ms and waits 800 ms for the next; the client leaves after 1 s",
        );
        let mut wasted = Vec::new();
        let ways = [
            ("own timeouts", self.at.own_chain, "f-own", None),
            ("one deadline", self.at.shared_chain, "f-one", Some("1000")),
        ];
        for (name, address, id, timeout) in ways {
            let from = self.world.journal.now();
            let mut headers = vec![("x-request-id", id)];
            headers.extend(timeout.map(|timeout| ("x-request-timeout-ms", timeout)));
            let answer = client::request(address, "GET /", &headers, LEAVES).await?;
            // Four hops of 750 ms: after that nothing can still be running.
            tokio::time::sleep(chain::WORK * 4).await;
            let hops = self.world.journal.settled(id, PATIENCE).await;
            let worked: Duration = hops
                .iter()
                .map(|hop| length(hop, from, Duration::ZERO))
                .sum();
            let after: Duration = hops.iter().map(|hop| length(hop, from, LEAVES)).sum();
            let answered = answer.map_or("the client left".to_owned(), |answer| {
                format!("{} after {}", answer.status, millis(answer.after))
            });
            row.note(format!(
                "{name}: {} hops begun, {} of work, {} of it after the client had left; {answered}",
                hops.len(),
                millis(worked),
                millis(after)
            ));
            wasted.push(after);
        }
        row.answered = "see below".into();
        row.promise(
            "with timeouts of their own the backend works on for two seconds",
            wasted[0] > Duration::from_millis(1_800),
        );
        row.promise("under one deadline nothing is wasted", wasted[1] < LAG);
        Ok(row)
    }

    async fn bad_headers(&self) -> io::Result<Row> {
        let mut row = Row::new(
            "g. a malformed and a duplicated header",
            "x-request-timeout-ms: +100; then two lines, 100 and 99999",
        );
        let mut statuses = Vec::new();
        for values in [&["+100"][..], &["100", "99999"]] {
            let headers: Vec<_> = values
                .iter()
                .map(|value| ("x-request-timeout-ms", *value))
                .chain([("x-request-id", "g")])
                .collect();
            let answer = client::request(self.at.gateway, "GET /", &headers, PATIENCE).await?;
            statuses.push(structured(answer.as_ref(), 400, "bad_deadline"));
            if let Some(answer) = answer {
                row.answer(Some(&answer));
                row.note(answer.body.trim());
            }
        }
        row.promise(
            "400 bad_deadline, both times: never unlimited, never the last one wins",
            statuses == [true, true],
        );
        row.promise(
            "the handler was not entered",
            self.world.journal.of("g").is_empty(),
        );
        Ok(row)
    }

    async fn cpu_heavy(&self) -> io::Result<Row> {
        let mut row = Row::new(
            "h. a hop that computes",
            "GET /primes?below=1000000000, x-request-timeout-ms: 500",
        );
        let (answer, hops) = self
            .ask(
                &mut row,
                "h",
                "GET /primes?below=1000000000",
                Some("500"),
                PATIENCE,
            )
            .await?;
        row.promise("504", status(answer.as_ref()) == 504);
        row.promise(
            "the loop stopped at a checkpoint",
            stopped(&hops, "crunch", 400),
        );
        Ok(row)
    }

    async fn before_a_write(&self) -> io::Result<Row> {
        let mut row = Row::new(
            "i. the client leaves before a write",
            "POST /invoices, gone after 100 ms; pricing takes 300 ms",
        );
        let (answer, _) = self
            .ask(
                &mut row,
                "i",
                "POST /invoices",
                Some("1000"),
                Duration::from_millis(100),
            )
            .await?;
        tokio::time::sleep(invoices::PRICING * 2).await;
        let first = self
            .world
            .database
            .written()
            .await
            .map_err(io::Error::other)?;
        row.note(format!("{} invoices, {} events", first.0, first.1));
        row.promise("nobody is answered", answer.is_none());
        row.promise("0 invoices, 0 events", first == (0, 0));
        let patient = client::request(
            self.at.gateway,
            "POST /invoices",
            &[("x-request-id", "i-patient")],
            PATIENCE,
        )
        .await?;
        let second = self
            .world
            .database
            .written()
            .await
            .map_err(io::Error::other)?;
        row.note(format!(
            "a client that waits: {} and {} invoice, {} event",
            status(patient.as_ref()),
            second.0,
            second.1
        ));
        row.promise(
            "a client that waits gets 201 and one of each",
            status(patient.as_ref()) == 201 && second == (1, 1),
        );
        Ok(row)
    }

    async fn observed(&self) -> io::Result<Row> {
        let mut row = Row::new(
            "j. the slow request in Observe",
            "GET /?ms=1800, x-request-timeout-ms: 1000, at a gateway that only looks",
        );
        let headers = [("x-request-id", "j"), ("x-request-timeout-ms", "1000")];
        let from = self.world.journal.now();
        let answer =
            client::request(self.at.observing, "GET /?ms=1800", &headers, PATIENCE).await?;
        row.answer(answer.as_ref());
        let hops = self.world.journal.settled("j", PATIENCE).await;
        row.hops(from, &hops);
        row.promise("200, as without us", status(answer.as_ref()) == 200);
        row.promise(
            "nothing was sent on",
            hops.iter()
                .all(|hop| hop.name == "gateway" || hop.granted_ms.is_none()),
        );
        let would = self.world.report("j").map(|report| {
            let over = report
                .scopes
                .iter()
                .filter(|scope| matches!(scope.outcome, deadline_runtime::Outcome::WouldStop(_)));
            over.map(|scope| format!("{}: {}", scope.operation, scope.outcome))
                .collect::<Vec<_>>()
        });
        let would = would.unwrap_or_default();
        row.promise(
            "what would have been stopped is recorded",
            !would.is_empty(),
        );
        for line in would {
            row.note(line);
        }
        Ok(row)
    }

    /// One request to the gateway, and its hops.
    async fn ask(
        &self,
        row: &mut Row,
        id: &str,
        line: &str,
        timeout: Option<&str>,
        patience: Duration,
    ) -> io::Result<(Option<Answer>, Vec<HopEntry>)> {
        let from = self.world.journal.now();
        let mut headers = vec![("x-request-id", id)];
        headers.extend(timeout.map(|timeout| ("x-request-timeout-ms", timeout)));
        let answer = client::request(self.at.gateway, line, &headers, patience).await?;
        row.answer(answer.as_ref());
        let hops = self.world.journal.settled(id, PATIENCE).await;
        row.hops(from, &hops);
        Ok((answer, hops))
    }
}

fn status(answer: Option<&Answer>) -> u16 {
    answer.map_or(0, |answer| answer.status)
}

fn structured(answer: Option<&Answer>, status: u16, cause: &str) -> bool {
    answer.is_some_and(|answer| {
        answer.status == status
            && answer.header("x-deadline-cause") == Some(cause)
            && answer.header("content-type") == Some("application/problem+json")
    })
}

fn granted(hops: &[HopEntry], name: &str) -> Option<u64> {
    hops.iter()
        .find(|hop| hop.name == name)?
        .granted_ms
        .as_deref()?
        .parse()
        .ok()
}

fn within(after: Duration, millis: u64) -> bool {
    let expected = Duration::from_millis(millis);
    after + Duration::from_millis(5) >= expected && after <= expected + SLACK
}

/// Whether the hop was cut, and soon after `millis` from the start of the request's first hop.
fn stopped(hops: &[HopEntry], name: &str, millis: u64) -> bool {
    let Some(first) = hops.iter().map(|hop| hop.started).min() else {
        return false;
    };
    let latest = first + Duration::from_millis(millis) + SLACK;
    hops.iter().any(|hop| {
        hop.name == name && !hop.finished && hop.ended.is_some_and(|ended| ended <= latest)
    })
}

/// How long a hop worked after `since`, counted from `from`.
fn length(hop: &HopEntry, from: Duration, since: Duration) -> Duration {
    let start = hop.started.saturating_sub(from).max(since);
    hop.ended
        .unwrap_or(hop.started)
        .saturating_sub(from)
        .saturating_sub(start)
}
