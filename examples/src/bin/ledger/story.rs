//! The stories: each breaks something, lets the service recover, and compares.
//!
//! Real time on real sockets: what is asserted is what happened, not when.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadline_tests::postgres::Server;
use serde_json::Value;

use crate::error::BoxError;
use crate::fault::{Fault, Faults, Step};
use crate::order::{Body, Order, Payment, Verdict};
use crate::process::{Place, Process};
use crate::provider::{Fake, Mood};
use crate::row::{Row, Seen};
use crate::store::{Database, MARGIN};

/// What a request is given by its client, in milliseconds: all the time.
const PATIENT: u64 = 6_000;
/// Where something stalls, so that the deadline passes.
const FAULTY: u64 = 2_000;
/// Less than the provider takes when it is slow.
const HURRIED: u64 = 1_500;
/// Less than the service needs to begin.
const TOO_LITTLE: u64 = 300;
/// How long everything may take to come to its end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than anybody waits.
const SLOW: Duration = Duration::from_millis(2_500);
/// How many stories run at once.
const AT_ONCE: usize = 8;

/// One story: what goes wrong, and what the client has to see then.
struct Plot {
    name: String,
    faults: Faults,
    mood: Mood,
    timeout_ms: u64,
    /// The status that is right; 0 is no answer.
    right: u16,
    /// Whether the order has to be known afterwards; `None` where both are right.
    known: Option<bool>,
}

impl Plot {
    fn new(name: impl Into<String>, right: u16) -> Self {
        Self {
            name: name.into(),
            faults: Faults::default(),
            mood: Mood::Good,
            timeout_ms: PATIENT,
            right,
            known: Some(true),
        }
    }

    /// The order never comes to be known.
    fn unknown(mut self) -> Self {
        self.known = Some(false);
        self
    }

    fn mood(mut self, mood: Mood) -> Self {
        self.mood = mood;
        self
    }

    fn timeout(mut self, millis: u64) -> Self {
        self.timeout_ms = millis;
        self
    }

    fn fault(mut self, step: Step, fault: Fault) -> Self {
        self.name = format!("{fault} {step}");
        self.faults = Faults::plan(step, fault);
        self.timeout_ms = FAULTY;
        self.known = match step {
            Step::BeforeIntent | Step::BeforeIntentCommit => Some(false),
            // Nobody can say.
            Step::DuringIntentCommit => None,
            _ => Some(true),
        };
        self
    }
}

fn plots() -> Vec<Plot> {
    let mut plots = vec![
        Plot::new("nothing goes wrong", 201),
        Plot::new("the provider declines", 402).mood(Mood::Declines),
        Plot::new("the provider fails", 202).mood(Mood::Fails),
        Plot::new("the provider is slow", 202).mood(Mood::Slow(SLOW)),
        Plot::new("the provider loses its answer", 202).mood(Mood::LosesAnswer),
        Plot::new("the provider is slow, and the client in a hurry", 504)
            .mood(Mood::Slow(SLOW))
            .timeout(HURRIED),
        Plot::new("the provider loses its answer, the client in a hurry", 504)
            .mood(Mood::LosesAnswer)
            .timeout(HURRIED),
        Plot::new("expired on arrival", 504).timeout(0).unknown(),
        Plot::new("too little left to begin", 504)
            .timeout(TOO_LITTLE)
            .unknown(),
    ];
    for step in [
        Step::BeforeIntent,
        Step::BeforeIntentCommit,
        Step::DuringIntentCommit,
        Step::AfterIntent,
        Step::BeforeResultCommit,
        Step::DuringResultCommit,
        Step::BeforeAnswer,
    ] {
        plots.push(Plot::new("", 504).fault(step, Fault::Stall));
        plots.push(Plot::new("", 0).fault(step, Fault::Kill));
    }
    plots.push(
        Plot::new("", 0)
            .fault(Step::AfterIntent, Fault::Kill)
            .mood(Mood::LosesAnswer),
    );
    if let Some(plot) = plots.last_mut() {
        plot.name.push_str(", then no answer");
    }
    plots
}

/// The world the stories happen in.
struct World {
    /// The URL of a database, if it is not files.
    postgres: Option<String>,
    dir: PathBuf,
    fake: Fake,
    provider: String,
    client: reqwest::Client,
}

/// Tells all of them.
pub async fn all(database: &Database) -> Result<Vec<Row>, BoxError> {
    let (postgres, _server) = match database {
        Database::Sqlite => (None, None),
        Database::Postgres(url) => (Some(url.clone()), None),
        Database::OwnPostgres => {
            let server = tokio::task::spawn_blocking(Server::start).await?;
            (Some(server.url()), Some(server))
        }
    };
    let fake = Fake::default();
    let tag = format!("{}_{:p}", std::process::id(), &raw const fake);
    let dir = std::env::temp_dir().join(format!("deadline-ledger-{tag}"));
    std::fs::create_dir_all(&dir)?;
    let world = Arc::new(World {
        postgres,
        provider: fake.start().await?,
        fake,
        dir: dir.clone(),
        client: reqwest::Client::builder()
            .no_proxy()
            .pool_max_idle_per_host(0)
            .retry(reqwest::retry::never())
            .build()?,
    });
    let rows = world.tell_all().await;
    let _ = std::fs::remove_dir_all(dir);
    rows
}

impl World {
    async fn tell_all(self: Arc<Self>) -> Result<Vec<Row>, BoxError> {
        let slots = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
        let telling: Vec<_> = plots()
            .into_iter()
            .enumerate()
            .map(|(number, plot)| {
                let (world, slots) = (self.clone(), slots.clone());
                tokio::spawn(async move {
                    let _slot = slots.acquire().await?;
                    world.tell(number, plot).await
                })
            })
            .collect();
        let mut rows = Vec::new();
        for story in telling {
            rows.push(story.await??);
        }
        rows.push(self.at_the_same_time(rows.len()).await?);
        Ok(rows)
    }

    async fn tell(&self, number: usize, plot: Plot) -> Result<Row, BoxError> {
        let order = order(number);
        let place = self.place(number);
        self.fake.expect(&order.body.account, plot.mood);
        let mut process = Process::start(&place, &self.provider, plot.faults.clone()).await?;
        let mut request = tokio::spawn(self.pay(process.address, &order, plot.timeout_ms));
        let saw = tokio::select! {
            () = plot.faults.killed() => {
                process.kill();
                process = Process::start(&place, &self.provider, Faults::default()).await?;
                request.await?
            }
            saw = &mut request => saw?,
        };
        let mut row = self
            .compare(plot.name, saw, process.address, &order)
            .await?;
        if row.saw.status() != plot.right {
            let text = format!("the client saw {} instead of {}", row.saw, plot.right);
            row.problem(text);
        }
        if plot.known.is_some_and(|known| known != row.after.is_some()) {
            let what = if row.after.is_some() {
                "known"
            } else {
                "lost intent: unknown"
            };
            row.problem(format!("afterwards the order is {what}"));
        }
        Ok(row)
    }

    /// Ten clients with one key, and the provider takes its time.
    async fn at_the_same_time(&self, number: usize) -> Result<Row, BoxError> {
        let order = order(number);
        let mood = Mood::Slow(Duration::from_millis(200));
        self.fake.expect(&order.body.account, mood);
        let process =
            Process::start(&self.place(number), &self.provider, Faults::default()).await?;
        let clients: Vec<_> = (0..10)
            .map(|_| tokio::spawn(self.pay(process.address, &order, PATIENT)))
            .collect();
        let (mut saw, mut conflicts, mut strange) = (Seen::Nothing, 0, Vec::new());
        for client in clients {
            match client.await? {
                Seen::Answer {
                    status: 409,
                    retry_after: Some(_),
                    ..
                } => conflicts += 1,
                seen if seen.status() == 201 => saw = seen,
                seen => strange.push(seen),
            }
        }
        let story = format!("ten at the same time: {conflicts} of them see 409");
        let mut row = self.compare(story, saw, process.address, &order).await?;
        if row.asked != 1 || !strange.is_empty() {
            row.problem(format!("not one call, or somebody saw {strange:?}"));
        }
        Ok(row)
    }

    /// What became of it, and what a client is told that sends the same again, or something else under the same key.
    async fn compare(
        &self,
        story: String,
        saw: Seen,
        address: SocketAddr,
        order: &Order,
    ) -> Result<Row, BoxError> {
        let after = self.reconciled(address, &order.key).await?;
        let again = self.pay_until_settled(address, order).await;
        let mut other = order.clone();
        other.body.cents += 1;
        let other = self.pay(address, &other, PATIENT).await;
        let mut row = Row {
            story,
            saw,
            after,
            again,
            asked: self.fake.asked(&order.body.account),
            charges: self.fake.charges(&order.body.account),
            problems: Vec::new(),
        };
        row.judge();
        if other.status() != 422 {
            row.problem(format!("another order under the same key: {other}"));
        }
        Ok(row)
    }

    fn place(&self, number: usize) -> Place {
        match &self.postgres {
            None => Place::File(self.dir.join(format!("{number}.db"))),
            Some(url) => {
                let unique = self.dir.file_name().unwrap_or_default().to_string_lossy();
                let unique = unique.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
                Place::Schema {
                    url: url.clone(),
                    name: format!("{unique}_{number}"),
                }
            }
        }
    }

    fn pay(
        &self,
        address: SocketAddr,
        order: &Order,
        timeout_ms: u64,
    ) -> impl Future<Output = Seen> + Send + use<> {
        let request = self
            .client
            .post(format!("http://{address}/payments"))
            .header("idempotency-key", &order.key)
            .header("x-request-timeout-ms", timeout_ms)
            .json(&order.body)
            .timeout(PATIENCE);
        seen(request)
    }

    /// Sends the same again until it is told the end of it.
    async fn pay_until_settled(&self, address: SocketAddr, order: &Order) -> Seen {
        let start = Instant::now();
        loop {
            let seen = self.pay(address, order, PATIENT).await;
            if matches!(seen.status(), 201 | 402) || start.elapsed() > PATIENCE {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What the service says when it has brought to its end what it knows of.
    async fn reconciled(
        &self,
        address: SocketAddr,
        key: &str,
    ) -> Result<Option<Payment>, BoxError> {
        let start = Instant::now();
        loop {
            let request = self
                .client
                .get(format!("http://{address}/payments/{key}"))
                .timeout(PATIENCE);
            let seen = seen(request).await;
            let payment = seen.payment();
            match (seen.status(), &payment) {
                (200, Some(Payment { verdict: None, .. })) if start.elapsed() < PATIENCE => {}
                (200, _) => return Ok(payment),
                // It may still be on its way: a commit whose client was cut off.
                (404, _) if start.elapsed() < MARGIN => {}
                (404, _) => return Ok(None),
                _ if start.elapsed() < PATIENCE => {}
                _ => return Err(format!("GET /payments/{key}: {seen}").into()),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The order of one story; its account is in no other.
fn order(number: usize) -> Order {
    Order {
        key: format!("key-{number}"),
        body: Body {
            account: format!("account-{number}"),
            cents: 500,
        },
    }
}

async fn seen(request: reqwest::RequestBuilder) -> Seen {
    let Ok(answer) = request.send().await else {
        return Seen::Nothing;
    };
    let header = |name: &str| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let (status, cause) = (answer.status().as_u16(), header("x-deadline-cause"));
    let replayed = header("idempotent-replayed").is_some();
    let retry_after = header("retry-after");
    let Ok(text) = answer.text().await else {
        return Seen::Nothing;
    };
    Seen::Answer {
        status,
        cause,
        payment: payment(&text),
        replayed,
        retry_after,
    }
}

fn payment(text: &str) -> Option<Payment> {
    let json: Value = serde_json::from_str(text).ok()?;
    let charge = json["charge"].as_str().map(str::to_owned);
    Some(Payment {
        key: json["key"].as_str()?.to_owned(),
        verdict: Verdict::from_columns(json["status"].as_str()?, charge),
    })
}
