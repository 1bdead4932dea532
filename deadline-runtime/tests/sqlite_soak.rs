//! Many clients with little time on one file: what each believes of its write, beside what is there afterwards.
#![cfg(feature = "sqlite")]

mod sqlite_support;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use deadline_runtime::data::sqlite::{Error, Pool, rusqlite};
use deadline_runtime::data::{CommitError, CommitOutcome};
use sqlite_support::{File, ms, request, settled};

const CLIENTS: i64 = 16;
const ROUNDS: i64 = 60;
/// Takes some milliseconds.
const SOME_WORK: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) SELECT count(*) FROM n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belief {
    There,
    NotThere,
    /// Nobody has told.
    Nothing,
}

/// Numbers that are others each time.
struct Dice(RandomState);

impl Dice {
    fn throw(&self, id: i64, what: &str, below: u64) -> u64 {
        self.0.hash_one((id, what)) % below
    }
}

/// One write, in a transaction or outside, with little time, and perhaps left in the middle.
async fn write(pool: &Pool, dice: &Dice, id: i64) -> Belief {
    let cx = request(2 + dice.throw(id, "budget", 60));
    let insert = "INSERT INTO rows (id, text) VALUES (?1, 'soak')";
    let work = cx.run(async {
        if dice.throw(id, "kind", 4) == 0 {
            return pool.execute(insert, (id,)).await.map(|_| Belief::There);
        }
        let mut tx = pool.begin().await?;
        tx.execute(insert, (id,)).await?;
        if dice.throw(id, "work", 3) == 0 {
            tx.query_row(SOME_WORK, (), |row| row.get::<_, i64>(0))
                .await?;
        }
        Ok(match tx.commit_outcome().await {
            CommitOutcome::Committed => Belief::There,
            CommitOutcome::NotCommitted(_) => Belief::NotThere,
            CommitOutcome::Unknown(_) => Belief::Nothing,
        })
    });
    let patience = match dice.throw(id, "leaves", 4) {
        0 => ms(dice.throw(id, "patience", 40)),
        _ => ms(60_000),
    };
    match tokio::time::timeout(patience, work).await {
        Ok(Ok(Ok(belief))) => belief,
        Ok(Ok(Err(error))) => {
            assert!(!matches!(error, Error::Sqlite(_)), "{error}");
            let unknown = matches!(CommitError::find(&error), Some(CommitError::Unknown(_)));
            if unknown {
                Belief::Nothing
            } else {
                Belief::NotThere
            }
        }
        // Cut from outside.
        Ok(Err(_)) | Err(_) => Belief::Nothing,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_believes_what_is_not_so() {
    let file = File::new("soak");
    let pool = file.pool(4).await;
    let dice = std::sync::Arc::new(Dice(RandomState::new()));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (pool, dice) = (pool.clone(), dice.clone());
            tokio::spawn(async move {
                let mut beliefs = HashMap::new();
                for id in (client * ROUNDS)..((client + 1) * ROUNDS) {
                    beliefs.insert(id, write(&pool, &dice, id).await);
                }
                beliefs
            })
        })
        .collect();
    let mut beliefs = HashMap::new();
    for client in clients {
        beliefs.extend(client.await.unwrap());
    }
    settled(&pool).await;

    let connection = file.connection();
    let mut query = connection.prepare("SELECT id FROM rows").unwrap();
    let there: rusqlite::Result<HashSet<i64>> =
        query.query_map([], |row| row.get(0)).unwrap().collect();
    let there = there.unwrap();
    let wrong: Vec<_> = beliefs
        .iter()
        .filter(|(id, belief)| match belief {
            Belief::There => !there.contains(id),
            Belief::NotThere => there.contains(id),
            Belief::Nothing => false,
        })
        .collect();
    assert_eq!(wrong, []);
    let many = |wanted| beliefs.values().filter(|belief| **belief == wanted).count();
    let (written, refused) = (many(Belief::There), many(Belief::NotThere));
    assert!(
        written > 0 && refused > 0,
        "{written} written, {refused} refused"
    );
    // Nobody is left inside a transaction, and nobody holds a lock.
    drop(file.locked());
    assert!(pool.num_idle() <= 4);
}
