//! The store in an embedded database: a file, and nothing to install.

use std::path::Path;

use deadline_runtime::data::sqlite::rusqlite::Row;
use deadline_runtime::data::sqlite::{Pool, PoolOptions};

use super::{Known, Store, Taken, lease, now, pause};
use crate::error::BoxError;
use crate::fault::{Faults, Step};
use crate::order::{Body, Order, Payment, Verdict};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS payments (
        key     TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        cents   INTEGER NOT NULL CHECK (cents > 0),
        status  TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'paid', 'declined')),
        charge  TEXT,
        CHECK ((status = 'paid') = (charge IS NOT NULL))
    ) STRICT;
    CREATE TABLE IF NOT EXISTS outbox (
        key         TEXT PRIMARY KEY REFERENCES payments (key),
        taken_until INTEGER NOT NULL
    ) STRICT;";

const SELECT: &str = "
    SELECT p.key, p.account, p.cents, p.status, p.charge, o.taken_until
    FROM payments p LEFT JOIN outbox o ON o.key = p.key";

#[derive(Clone)]
pub struct Sqlite {
    pool: Pool,
    faults: Faults,
}

impl Sqlite {
    pub async fn open(path: &Path, faults: Faults) -> Result<Self, BoxError> {
        let pool = PoolOptions::new()
            // What is committed survives a power cut, not only the end of a process.
            .on_open(|connection| {
                connection.execute_batch(
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
                )
            })
            .open(path)
            .await?;
        pool.run(|connection| connection.execute_batch(SCHEMA))
            .await?;
        Ok(Self { pool, faults })
    }
}

impl Store for Sqlite {
    async fn take(&self, order: &Order) -> Result<Taken, BoxError> {
        let mut tx = self.pool.begin().await?;
        let (key, now) = (order.key.clone(), now());
        let known = tx
            .query_all(format!("{SELECT} WHERE p.key = ?1"), (key.clone(),), known)
            .await?;
        match known.into_iter().next() {
            None => {
                let Body { account, cents } = order.body.clone();
                tx.execute(
                    "INSERT INTO payments (key, account, cents) VALUES (?1, ?2, ?3)",
                    (key.clone(), account, cents),
                )
                .await?;
                let sql = "INSERT INTO outbox (key, taken_until) VALUES (?1, ?2)";
                tx.execute(sql, (key, lease(now))).await?;
            }
            Some(known) => match known.judge(order, now) {
                Taken::Ours => {
                    let sql = "UPDATE outbox SET taken_until = ?2 WHERE key = ?1";
                    tx.execute(sql, (key, lease(now))).await?;
                }
                other => return Ok(other),
            },
        }
        self.faults.at(Step::BeforeIntentCommit).await;
        self.faults
            .during(Step::DuringIntentCommit, tx.commit())
            .await?;
        Ok(Taken::Ours)
    }

    async fn take_left(&self) -> Result<Option<Order>, BoxError> {
        let now = now();
        let sql = "UPDATE outbox SET taken_until = ?2
                   WHERE key = (SELECT key FROM outbox WHERE taken_until <= ?1 ORDER BY taken_until LIMIT 1)
                   RETURNING key";
        let mut tx = self.pool.begin().await?;
        let keys = tx
            .query_all(sql, (now, lease(now)), |row| row.get::<_, String>(0))
            .await?;
        let Some(key) = keys.into_iter().next() else {
            return Ok(None);
        };
        let known = tx
            .query_row(format!("{SELECT} WHERE p.key = ?1"), (key,), known)
            .await?;
        tx.commit().await?;
        Ok(Some(known.order))
    }

    async fn settle(&self, key: &str, verdict: &Verdict) -> Result<(), BoxError> {
        let (status, charge) = verdict.columns();
        let charge = charge.map(str::to_owned);
        let mut tx = self.pool.begin().await?;
        tx.execute(
            "UPDATE payments SET status = ?2, charge = ?3 WHERE key = ?1 AND status = 'pending'",
            (key.to_owned(), status, charge),
        )
        .await?;
        tx.execute("DELETE FROM outbox WHERE key = ?1", (key.to_owned(),))
            .await?;
        self.faults.at(Step::BeforeResultCommit).await;
        self.faults
            .during(Step::DuringResultCommit, tx.commit())
            .await?;
        Ok(())
    }

    async fn leave(&self, key: &str) -> Result<(), BoxError> {
        let sql = "UPDATE outbox SET taken_until = ?2 WHERE key = ?1";
        self.pool.execute(sql, (key.to_owned(), pause())).await?;
        Ok(())
    }

    async fn find(&self, key: &str) -> Result<Option<Payment>, BoxError> {
        let found = self
            .pool
            .query_all(
                format!("{SELECT} WHERE p.key = ?1"),
                (key.to_owned(),),
                known,
            )
            .await?;
        Ok(found.into_iter().next().map(|known| known.payment))
    }
}

fn known(row: &Row<'_>) -> Result<Known, deadline_runtime::data::sqlite::rusqlite::Error> {
    let key: String = row.get(0)?;
    let status: String = row.get(3)?;
    Ok(Known {
        order: Order {
            key: key.clone(),
            body: Body {
                account: row.get(1)?,
                cents: row.get(2)?,
            },
        },
        payment: Payment {
            key,
            verdict: Verdict::from_columns(&status, row.get(4)?),
        },
        taken_until: row.get(5)?,
    })
}
