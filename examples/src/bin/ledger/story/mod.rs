//! The stories: each breaks something, lets the service recover, and compares.
//!
//! Real time on real sockets: what is asserted is what happened, not when.

mod client;
mod plot;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deadline_tests::postgres::Server;

use self::client::Client;
use self::plot::{PATIENT, Plot, plots};
use crate::error::BoxError;
use crate::fault::Faults;
use crate::order::{Body, Order};
use crate::process::{Place, Process};
use crate::provider::{Fake, Mood};
use crate::row::{Row, Seen};
use crate::store::Database;

/// How many stories run at once.
const AT_ONCE: usize = 8;

/// The world the stories happen in.
struct World {
    /// The URL of a database, if it is not files.
    postgres: Option<String>,
    dir: PathBuf,
    fake: Fake,
    provider: String,
    client: Client,
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
        client: Client::new()?,
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
        let mut request = tokio::spawn(self.client.pay(process.address, &order, plot.timeout_ms));
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
            .map(|_| tokio::spawn(self.client.pay(process.address, &order, PATIENT)))
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
        let after = self.client.reconciled(address, &order.key).await?;
        let again = self.client.pay_until_settled(address, order).await;
        let mut other = order.clone();
        other.body.cents += 1;
        let other = self.client.pay(address, &other, PATIENT).await;
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
