//! [`load`]: a server under clients of every kind, for a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::accounts::{Accounts, Requests};
use super::clients::Kind;
use super::grpc::Caller;
use super::process::Holdings;
use super::service::Servers;
use super::watch::Watch;
use crate::clock::real_time;

/// How long and how many.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// For how long clients come. A tenth of it goes before, so that what is kept for good is there.
    pub time: Duration,
    /// How many at once.
    pub clients: u64,
    /// How many bytes are allocated now.
    pub live: fn() -> usize,
}

#[derive(Default)]
struct Tally {
    done: Mutex<BTreeMap<Kind, u64>>,
    wrong: Mutex<Vec<String>>,
    next: AtomicU64,
}

/// Loads a server of its own in this process.
///
/// # Errors
/// If the servers cannot be started.
///
/// # Panics
/// Under a paused clock.
pub async fn load(
    plan: Plan,
    watch: &Watch,
) -> Result<Accounts, Box<dyn std::error::Error + Send + Sync>> {
    real_time();
    let nothing = Holdings::now(plan.live);
    let servers = Servers::start().await?;

    let tally = Arc::<Tally>::default();
    come(&servers, plan.clients, plan.time / 10, &tally).await;
    let warm = quiet(&servers, plan.live).await;
    let start = Instant::now();
    come(&servers, plan.clients, plan.time, &tally).await;
    let time = start.elapsed();
    let loaded = quiet(&servers, plan.live).await;

    let (first, second) = (Requests::of(&servers.first), Requests::of(&servers.second));
    let calls = Requests::of(&servers.calls);
    let working = servers.working();
    let (tracked, admitted) = (servers.tracker.stats(), servers.admission.stats());
    servers.stop().await;
    let left = Holdings::back_at(&nothing, plan.live).await;
    Ok(Accounts {
        clients: tally.done(),
        wrong: tally.wrong(),
        first,
        second,
        calls,
        working,
        tracked,
        admitted,
        seen: watch.seen(),
        // Of tasks and descriptors nothing at all may be left; memory is compared where both sides are warm.
        before: Holdings {
            tasks: nothing.tasks,
            descriptors: nothing.descriptors,
            ..warm
        },
        after: Holdings {
            tasks: left.tasks,
            descriptors: left.descriptors,
            ..loaded
        },
        time,
    })
}

/// Clients of every kind in turn, each as soon as one has gone.
async fn come(servers: &Servers, clients: u64, time: Duration, tally: &Arc<Tally>) {
    let until = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let (tally, address) = (tally.clone(), servers.address);
        let mut caller = Caller::new(servers.grpc);
        tasks.spawn(async move {
            while Instant::now() < until {
                caller.renew();
                let n = tally.next.fetch_add(1, Relaxed);
                let kinds = Kind::ALL.len();
                let kind = Kind::ALL[usize::try_from(n).unwrap_or(0) % kinds];
                let once =
                    tokio::time::timeout(Duration::from_secs(30), kind.once(address, &caller, n));
                let came = match once.await {
                    Ok(Ok(came)) => came,
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "no end".to_owned(),
                };
                tally.add(kind, &came);
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

/// What is held once the servers have seen the end of everything; much longer than that may take.
async fn quiet(servers: &Servers, live: fn() -> usize) -> Holdings {
    let busy = || {
        let requests = [&servers.first, &servers.second, &servers.calls];
        let running: i64 = requests.iter().map(|counts| counts.running()).sum();
        running + servers.working() != 0
    };
    let start = Instant::now();
    while busy() && start.elapsed() < Duration::from_secs(20) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The ends of connections come a little after those of their requests.
    tokio::time::sleep(Duration::from_millis(500)).await;
    Holdings::now(live)
}

impl Tally {
    fn add(&self, kind: Kind, came: &str) {
        *lock(&self.done).entry(kind).or_default() += 1;
        if !kind.right().contains(&came) {
            let mut wrong = lock(&self.wrong);
            if wrong.len() < 20 {
                let right = kind.right().join(" or ");
                wrong.push(format!("{}: {came}, not {right}", kind.name()));
            }
        }
    }

    fn done(&self) -> BTreeMap<Kind, u64> {
        lock(&self.done).clone()
    }

    fn wrong(&self) -> Vec<String> {
        lock(&self.wrong).clone()
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
