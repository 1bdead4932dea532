//! Many clients with little time on few connections: what they believe about their writes is what the database holds.
//!
//! `SOAK_SECONDS=60 cargo test -p deadline-tests --test postgres_soak -- --nocapture` for longer.

mod postgres_common;

use deadline_runtime::data::sqlx_postgres::Pool;
use deadline_runtime::data::{Policy, Resolution};
use postgres_common::soak::{CONNECTIONS, Load, Turn, with_deadlines, with_timeouts};
use postgres_common::{Db, ms};
use sqlx::{AssertSqlSafe, PgPool};

macro_rules! load {
    ($load:ident, $pool:ty) => {
        #[derive(Clone)]
        struct $load($pool);

        impl Load for $load {
            type Error = sqlx::Error;

            async fn write(&self, id: i64) -> Result<(), sqlx::Error> {
                let insert = sqlx::query("INSERT INTO ledger VALUES ($1)").bind(id);
                insert.execute(&self.0).await.map(drop)
            }

            async fn turn(&self, turn: &Turn) -> Result<(), sqlx::Error> {
                let mut tx = self.0.begin().await?;
                sqlx::query("INSERT INTO ledger VALUES ($1)")
                    .bind(turn.id)
                    .execute(&mut *tx)
                    .await?;
                sqlx::query("UPDATE hot SET n = n + 1 WHERE id = $1")
                    .bind(turn.row)
                    .execute(&mut *tx)
                    .await?;
                sqlx::query(AssertSqlSafe(turn.sleep.clone()))
                    .execute(&mut *tx)
                    .await?;
                tx.commit().await
            }
        }
    };
}

load!(Ours, Pool);
load!(Plain, PgPool);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_believed_is_what_is() {
    let db = Db::new().await;
    // Commits are begun to the last, so that some of them are caught on their way.
    let policy = Policy::new().commit_min(ms(1));
    let pool = db.pool_at(db.server.address(), CONNECTIONS.into(), policy);
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
    let pool = other.pool(CONNECTIONS.into()).sqlx().clone();
    let theirs = with_timeouts(&other, Plain(pool)).await;
    println!("tokio timeout: {theirs}");

    ours.assert_right();
}
