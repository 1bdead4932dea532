//! Many clients with little time on few connections, whatever the driver: what they believe about their writes beside
//! what the database holds.

use std::collections::HashSet;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadline_runtime::data::{CommitError, TransactionId};
use deadline_runtime::{Budget, Cause, Context};

use super::{Db, ms};

pub const CONNECTIONS: u8 = 4;
const CLIENTS: u64 = 32;

/// What the clients do with a pool.
pub trait Load: Clone + Send + Sync + 'static {
    type Error: Error + Send + Sync + 'static;

    /// `INSERT INTO ledger`, and nothing else.
    fn write(&self, id: i64) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// A transaction: `INSERT INTO ledger`, `UPDATE hot`, the sleep.
    fn turn(&self, turn: &Turn) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// What the clients hold to be true.
#[derive(Default)]
pub struct Beliefs {
    committed: Mutex<Vec<i64>>,
    not_committed: Mutex<Vec<i64>>,
    pub unknown: Mutex<Vec<(i64, Option<TransactionId>)>>,
    /// Writes without any deadline, by those who share the pool.
    innocent: Mutex<Vec<i64>>,
    innocents_hurt: AtomicI64,
    /// By how much the callers were late, in microseconds.
    overruns: Mutex<Vec<u128>>,
    next: AtomicI64,
}

/// Small and repeatable.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// One turn of a client: a write, some work, a lock that others want as well.
pub struct Turn {
    pub id: i64,
    /// A statement.
    pub sleep: String,
    pub row: i64,
    budget: Duration,
}

impl Turn {
    fn new(beliefs: &Beliefs, dice: &mut Dice) -> Self {
        Self {
            id: beliefs.next.fetch_add(1, Ordering::Relaxed),
            sleep: format!(
                "SELECT pg_sleep({})",
                f64::from(u32::try_from(dice.below(25)).unwrap()) / 1_000.0
            ),
            row: i64::try_from(dice.below(8)).unwrap(),
            budget: ms(5 + dice.below(60)),
        }
    }
}

async fn bounded<L: Load>(load: L, beliefs: Arc<Beliefs>, stop: Arc<AtomicBool>, seed: u64) {
    let mut dice = Dice(seed);
    while !stop.load(Ordering::Relaxed) {
        let turn = Turn::new(&beliefs, &mut dice);
        if dice.below(8) == 0 {
            innocent(&beliefs, turn.id, &load.write(turn.id).await);
            continue;
        }
        let cx = Context::root("soak", Budget::new(turn.budget));
        let since = Instant::now();
        let id = turn.id;
        match dice.below(10) {
            // The client leaves: by a cancel of the request, or by everything being dropped.
            0 => {
                let leaves = tokio::spawn({
                    let (cx, after) = (cx.clone(), ms(dice.below(40)));
                    async move {
                        tokio::time::sleep(after).await;
                        cx.cancel(Cause::ClientCancelled)
                    }
                });
                believe(&beliefs, id, cx.enter(|| load.turn(&turn)), &cx).await;
                leaves.abort();
            }
            1 => {
                let task = tokio::spawn({
                    let (cx, load) = (cx.clone(), load.clone());
                    async move { cx.run(load.turn(&turn)).await }
                });
                tokio::time::sleep(ms(dice.below(40))).await;
                task.abort();
            }
            _ => {
                if believe(&beliefs, id, load.turn(&turn), &cx).await {
                    let late = since.elapsed().saturating_sub(turn.budget);
                    beliefs.overruns.lock().unwrap().push(late.as_micros());
                }
            }
        }
    }
}

/// True if the deadline ended it.
async fn believe(
    beliefs: &Beliefs,
    id: i64,
    work: impl Future<Output = Result<(), impl Error + 'static>>,
    cx: &Context,
) -> bool {
    match cx.run(work).await {
        Ok(Ok(())) => beliefs.committed.lock().unwrap().push(id),
        Ok(Err(error)) => {
            if let Some(CommitError::Unknown(unknown)) = CommitError::find(&error) {
                beliefs
                    .unknown
                    .lock()
                    .unwrap()
                    .push((id, unknown.transaction()));
            } else {
                beliefs.not_committed.lock().unwrap().push(id);
            }
            return true;
        }
        // Dropped by the scope around it: nothing is believed.
        Err(_) => return true,
    }
    false
}

fn innocent(beliefs: &Beliefs, id: i64, written: &Result<(), impl Error>) {
    match written {
        Ok(()) => beliefs.innocent.lock().unwrap().push(id),
        Err(_) => drop(beliefs.innocents_hurt.fetch_add(1, Ordering::Relaxed)),
    }
}

async fn timed_out<L: Load>(load: L, beliefs: Arc<Beliefs>, stop: Arc<AtomicBool>, seed: u64) {
    let mut dice = Dice(seed);
    while !stop.load(Ordering::Relaxed) {
        let turn = Turn::new(&beliefs, &mut dice);
        if dice.below(8) == 0 {
            innocent(&beliefs, turn.id, &load.write(turn.id).await);
            continue;
        }
        let (since, id, budget) = (Instant::now(), turn.id, turn.budget);
        let left = dice.below(10);
        let limit = if left < 2 {
            ms(dice.below(40)).min(budget)
        } else {
            budget
        };
        match tokio::time::timeout(limit, load.turn(&turn)).await {
            Ok(Ok(())) => beliefs.committed.lock().unwrap().push(id),
            // What a handler believes whose timeout has fired.
            Ok(Err(_)) | Err(_) if left >= 2 => {
                beliefs.not_committed.lock().unwrap().push(id);
                beliefs
                    .overruns
                    .lock()
                    .unwrap()
                    .push(since.elapsed().saturating_sub(budget).as_micros());
            }
            _ => {}
        }
    }
}

pub struct Seen {
    pub wrong: usize,
    pub lost: usize,
    pub backends: i64,
    pub open: i64,
    pub turns: i64,
    pub committed: usize,
    pub unknown: usize,
    pub hurt: i64,
    pub p50: u128,
    pub max: u128,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} turns, {} committed, {} unknown; wrong beliefs {}, innocents' lost writes {}, innocents' errors {}, most backends {}, transactions left open {}, overrun p50 {} us, max {} us",
            self.turns,
            self.committed,
            self.unknown,
            self.wrong,
            self.lost,
            self.hurt,
            self.backends,
            self.open,
            self.p50,
            self.max
        )
    }
}

async fn soak<F>(
    db: &Db,
    seconds: u64,
    client: impl Fn(Arc<Beliefs>, Arc<AtomicBool>, u64) -> F,
) -> (Seen, Arc<Beliefs>)
where
    F: Future<Output = ()> + Send + 'static,
{
    db.execute(
        "CREATE TABLE ledger (id bigint PRIMARY KEY); CREATE TABLE hot (id bigint PRIMARY KEY, n bigint NOT NULL); \
         INSERT INTO hot SELECT n, 0 FROM generate_series(0, 7) n",
    )
    .await;
    let (beliefs, stop) = (
        Arc::new(Beliefs::default()),
        Arc::new(AtomicBool::new(false)),
    );
    let clients: Vec<_> = (1..=CLIENTS)
        .map(|seed| tokio::spawn(client(beliefs.clone(), stop.clone(), seed * 7_919)))
        .collect();
    let (since, mut backends) = (Instant::now(), 0);
    while since.elapsed() < Duration::from_secs(seconds) {
        backends = backends.max(db.backends().await);
        tokio::time::sleep(ms(5)).await;
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    // What was under way ends, if somebody ends it.
    let since = Instant::now();
    let mut open = db.in_transaction().await;
    while open > 0 && since.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(ms(20)).await;
        open = db.in_transaction().await;
    }
    let held: HashSet<i64> = db
        .numbers("SELECT id FROM ledger")
        .await
        .into_iter()
        .collect();
    let committed = beliefs.committed.lock().unwrap().clone();
    let not_committed = beliefs.not_committed.lock().unwrap().clone();
    let innocent = beliefs.innocent.lock().unwrap().clone();
    let mut overruns = beliefs.overruns.lock().unwrap().clone();
    overruns.sort_unstable();
    let wrong = committed.iter().filter(|id| !held.contains(id)).count()
        + not_committed.iter().filter(|id| held.contains(id)).count();
    let seen = Seen {
        wrong,
        lost: innocent.iter().filter(|id| !held.contains(id)).count(),
        backends,
        open,
        turns: beliefs.next.load(Ordering::Relaxed),
        committed: committed.len(),
        unknown: beliefs.unknown.lock().unwrap().len(),
        hurt: beliefs.innocents_hurt.load(Ordering::Relaxed),
        p50: overruns
            .get(overruns.len() / 2)
            .copied()
            .unwrap_or_default(),
        max: overruns.last().copied().unwrap_or_default(),
    };
    (seen, beliefs)
}

/// How long: `SOAK_SECONDS`, or a little.
pub fn seconds() -> u64 {
    let seconds = std::env::var("SOAK_SECONDS").ok();
    seconds.and_then(|s| s.parse().ok()).unwrap_or(10)
}

/// With a deadline in the context.
pub async fn with_deadlines(db: &Db, load: impl Load) -> (Seen, Arc<Beliefs>) {
    soak(db, seconds(), |beliefs, stop, seed| {
        bounded(load.clone(), beliefs, stop, seed)
    })
    .await
}

/// With a timeout around it.
pub async fn with_timeouts(db: &Db, load: impl Load) -> Seen {
    let soaked = soak(db, seconds().min(10), |beliefs, stop, seed| {
        timed_out(load.clone(), beliefs, stop, seed)
    });
    soaked.await.0
}

impl Seen {
    /// Nobody was wrong, nobody was hurt, nothing was left behind; and there was something to do.
    pub fn assert_right(&self) {
        let wrong = (self.wrong, self.lost, self.hurt, self.open);
        assert_eq!(wrong, (0, 0, 0, 0));
        let most = i64::from(CONNECTIONS) + 1;
        assert!(self.backends <= most, "{} backends", self.backends);
        assert!(self.committed > 20, "{} committed: no load", self.committed);
    }
}

impl Beliefs {
    /// Whether the row of a transaction is there, for those of unknown outcome.
    pub async fn unknown_and_held(&self, db: &Db) -> Vec<(TransactionId, bool)> {
        let unknown = self.unknown.lock().unwrap().clone();
        let mut held = Vec::new();
        for (id, transaction) in unknown {
            let count = format!("SELECT count(*) FROM ledger WHERE id = {id}");
            held.push((transaction.unwrap(), db.number(&count).await == 1));
        }
        held
    }
}
