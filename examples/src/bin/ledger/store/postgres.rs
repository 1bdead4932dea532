//! The store on a Postgres server.

use deadline_runtime::data::sqlx_postgres::Pool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::{Known, Store, Taken, lease, now, pause};
use crate::error::BoxError;
use crate::fault::{Faults, Step};
use crate::order::{Body, Order, Payment, Verdict};

const SCHEMA: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS payments (
        key     TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        cents   BIGINT NOT NULL CHECK (cents > 0),
        status  TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'paid', 'declined')),
        charge  TEXT,
        CHECK ((status = 'paid') = (charge IS NOT NULL))
    )",
    "CREATE TABLE IF NOT EXISTS outbox (
        key         TEXT PRIMARY KEY REFERENCES payments (key),
        taken_until BIGINT NOT NULL
    )",
];

const SELECT: &str = "
    SELECT p.key, p.account, p.cents, p.status, p.charge, o.taken_until
    FROM payments p LEFT JOIN outbox o ON o.key = p.key
    WHERE p.key = $1";

#[derive(Clone)]
pub struct Postgres {
    pool: Pool,
    faults: Faults,
}

impl Postgres {
    /// In a schema of its own, so that one database serves many stories.
    pub async fn open(url: &str, schema: &str, faults: Faults) -> Result<Self, BoxError> {
        let options: PgConnectOptions = url.parse()?;
        let options = options.options([("search_path", schema)]);
        let pool = PgPoolOptions::new()
            .max_connections(4)
            .connect_with(options)
            .await?;
        let create = format!("CREATE SCHEMA IF NOT EXISTS {schema}");
        sqlx::query(AssertSqlSafe(create)).execute(&pool).await?;
        for table in SCHEMA {
            sqlx::query(table).execute(&pool).await?;
        }
        Ok(Self {
            pool: Pool::new(pool),
            faults,
        })
    }
}

impl Store for Postgres {
    async fn take(&self, order: &Order) -> Result<Taken, BoxError> {
        let mut tx = self.pool.begin().await?;
        let now = now();
        let inserted = sqlx::query(
            "INSERT INTO payments (key, account, cents) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING",
        )
        .bind(&order.key)
        .bind(&order.body.account)
        .bind(order.body.cents)
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() == 1 {
            sqlx::query("INSERT INTO outbox (key, taken_until) VALUES ($1, $2)")
                .bind(&order.key)
                .bind(lease(now))
                .execute(&mut *tx)
                .await?;
        } else {
            // Of two requests with one key the second sees what the first has done.
            sqlx::query("SELECT 1 FROM payments WHERE key = $1 FOR UPDATE")
                .bind(&order.key)
                .execute(&mut *tx)
                .await?;
            let known = sqlx::query(SELECT)
                .bind(&order.key)
                .fetch_one(&mut *tx)
                .await?;
            match known_of(&known)?.judge(order, now) {
                Taken::Ours => {
                    sqlx::query("UPDATE outbox SET taken_until = $2 WHERE key = $1")
                        .bind(&order.key)
                        .bind(lease(now))
                        .execute(&mut *tx)
                        .await?;
                }
                other => return Ok(other),
            }
        }
        self.faults.at(Step::BeforeIntentCommit).await;
        self.faults
            .during(Step::DuringIntentCommit, tx.commit())
            .await?;
        Ok(Taken::Ours)
    }

    async fn take_left(&self) -> Result<Option<Order>, BoxError> {
        let now = now();
        let mut tx = self.pool.begin().await?;
        let taken = sqlx::query_scalar::<_, String>(
            "UPDATE outbox SET taken_until = $2
             WHERE key = (
                 SELECT key FROM outbox WHERE taken_until <= $1
                 ORDER BY taken_until LIMIT 1 FOR UPDATE SKIP LOCKED
             )
             RETURNING key",
        )
        .bind(now)
        .bind(lease(now))
        .fetch_optional(&mut *tx)
        .await?;
        let Some(key) = taken else { return Ok(None) };
        let known = sqlx::query(SELECT).bind(key).fetch_one(&mut *tx).await?;
        tx.commit().await?;
        Ok(Some(known_of(&known)?.order))
    }

    async fn settle(&self, key: &str, verdict: &Verdict) -> Result<(), BoxError> {
        let (status, charge) = verdict.columns();
        let mut tx = self.pool.begin().await?;
        sqlx::query(
            "UPDATE payments SET status = $2, charge = $3 WHERE key = $1 AND status = 'pending'",
        )
        .bind(key)
        .bind(status)
        .bind(charge)
        .execute(&mut *tx)
        .await?;
        sqlx::query("DELETE FROM outbox WHERE key = $1")
            .bind(key)
            .execute(&mut *tx)
            .await?;
        self.faults.at(Step::BeforeResultCommit).await;
        self.faults
            .during(Step::DuringResultCommit, tx.commit())
            .await?;
        Ok(())
    }

    async fn leave(&self, key: &str) -> Result<(), BoxError> {
        sqlx::query("UPDATE outbox SET taken_until = $2 WHERE key = $1")
            .bind(key)
            .bind(pause())
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    async fn find(&self, key: &str) -> Result<Option<Payment>, BoxError> {
        let found = sqlx::query(SELECT)
            .bind(key)
            .fetch_optional(&self.pool)
            .await?;
        Ok(found
            .map(|row| known_of(&row))
            .transpose()?
            .map(|known| known.payment))
    }
}

fn known_of(row: &PgRow) -> Result<Known, sqlx::Error> {
    let key: String = row.try_get(0)?;
    let status: String = row.try_get(3)?;
    Ok(Known {
        order: Order {
            key: key.clone(),
            body: Body {
                account: row.try_get(1)?,
                cents: row.try_get(2)?,
            },
        },
        payment: Payment {
            key,
            verdict: Verdict::from_columns(&status, row.try_get(4)?),
        },
        taken_until: row.try_get(5)?,
    })
}
