//! The soak over tokio-postgres: what many clients believe about their writes is what the database holds.
//!
//! `SOAK_SECONDS=60 cargo test -p deadline-tests --test postgres_tokio_soak -- --nocapture` for longer.

mod postgres_common;
mod postgres_tokio_common;

use deadline_runtime::data::tokio_postgres::{Error, Pool};
use deadline_runtime::data::{Policy, Resolution};
use postgres_common::soak::{CONNECTIONS, Load, Turn, with_deadlines, with_timeouts};
use postgres_common::{Db, ms};
use postgres_tokio_common::{pool, pool_at};

const INSERT: &str = "INSERT INTO ledger VALUES ($1)";
const UPDATE: &str = "UPDATE hot SET n = n + 1 WHERE id = $1";

#[derive(Clone)]
struct Ours(Pool);

impl Load for Ours {
    type Error = Error;

    async fn write(&self, id: i64) -> Result<(), Error> {
        self.0.execute(INSERT, &[&id]).await.map(drop)
    }

    async fn turn(&self, turn: &Turn) -> Result<(), Error> {
        let mut tx = self.0.begin().await?;
        tx.execute(INSERT, &[&turn.id]).await?;
        tx.execute(UPDATE, &[&turn.row]).await?;
        tx.execute(&turn.sleep, &[]).await?;
        tx.commit().await
    }
}

#[derive(Clone)]
struct Plain(deadpool_postgres::Pool);

impl Load for Plain {
    type Error = Error;

    async fn write(&self, id: i64) -> Result<(), Error> {
        let client = self.0.get().await?;
        Ok(client.execute(INSERT, &[&id]).await.map(drop)?)
    }

    async fn turn(&self, turn: &Turn) -> Result<(), Error> {
        let mut client = self.0.get().await?;
        let tx = client.transaction().await?;
        tx.execute(INSERT, &[&turn.id]).await?;
        tx.execute(UPDATE, &[&turn.row]).await?;
        tx.execute(&turn.sleep, &[]).await?;
        Ok(tx.commit().await?)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_believed_is_what_is() {
    let db = Db::new().await;
    // Commits are begun to the last, so that some of them are caught on their way.
    let policy = Policy::new().commit_min(ms(1));
    let pool = pool_at(&db, db.server.address(), CONNECTIONS.into(), policy);
    let (ours, beliefs) = with_deadlines(&db, Ours(pool.clone())).await;
    println!("deadline:      {ours}");
    for (transaction, held) in beliefs.unknown_and_held(&db).await {
        let wanted = if held {
            Resolution::Committed
        } else {
            Resolution::NotCommitted
        };
        assert_eq!(pool.resolve_id(transaction).await.unwrap(), wanted);
    }

    let other = Db::new().await;
    let plain = self::pool(&other, CONNECTIONS.into()).deadpool().clone();
    let theirs = with_timeouts(&other, Plain(plain)).await;
    println!("tokio timeout: {theirs}");

    ours.assert_right();
}
