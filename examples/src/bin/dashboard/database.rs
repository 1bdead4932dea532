//! An embedded `SQLite` database whose queries stop with the request that waits for them.

use std::time::{Duration, Instant};

use deadline_runtime::data::sqlite::{Error, Pool, PoolOptions};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::journal::Journal;

#[derive(Clone)]
pub struct Database {
    pool: Pool,
    journal: Journal,
    origin: Instant,
}

impl Database {
    pub async fn open(journal: Journal) -> Result<Self, Error> {
        let origin = Instant::now();
        let pool = PoolOptions::new()
            .on_open(move |connection| {
                connection.create_scalar_function(
                    "now_ms",
                    0,
                    FunctionFlags::SQLITE_UTF8,
                    move |_| Ok(millis(origin.elapsed())),
                )
            })
            .in_memory()
            .await?;
        pool.run(|connection| {
            connection.execute_batch(
                "CREATE TABLE orders (id INTEGER PRIMARY KEY, user TEXT NOT NULL, item TEXT NOT NULL);
                 INSERT INTO orders (user, item) VALUES ('ada', 'loom'), ('ada', 'punched cards'), ('grace', 'compiler');
                 CREATE TABLE invoices (id INTEGER PRIMARY KEY, user TEXT NOT NULL);
                 CREATE TABLE events (id INTEGER PRIMARY KEY, text TEXT NOT NULL);",
            )
        })
        .await?;
        Ok(Self {
            pool,
            journal,
            origin,
        })
    }

    /// The items a user ordered, by a query that takes `slow` to run.
    pub async fn orders(
        &self,
        request: String,
        user: String,
        slow: Duration,
    ) -> Result<Vec<String>, Error> {
        let until = millis(self.origin.elapsed() + slow);
        self.observed(request, move |connection| {
            // Counts until the time is up: work for the engine, not a sleep.
            connection.query_row(
                "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE now_ms() < ?1) SELECT max(x) FROM n",
                [until],
                |_| Ok(()),
            )?;
            let mut query = connection.prepare("SELECT item FROM orders WHERE user = ?1 ORDER BY id")?;
            query.query_map([user], |row| row.get(0))?.collect()
        })
        .await
    }

    /// Writes an invoice and its event, both or none.
    pub async fn invoice(&self, request: String, user: String) -> Result<(), Error> {
        let hop = self.journal.start(&request, "database", None);
        let mut tx = self.pool.begin().await?;
        tx.execute("INSERT INTO invoices (user) VALUES (?1)", (user.clone(),))
            .await?;
        tx.execute(
            "INSERT INTO events (text) VALUES ('invoiced ' || ?1)",
            (user,),
        )
        .await?;
        tx.commit().await?;
        hop.finish();
        Ok(())
    }

    /// How many invoices and events there are.
    pub async fn written(&self) -> Result<(i64, i64), Error> {
        let sql = "SELECT (SELECT count(*) FROM invoices), (SELECT count(*) FROM events)";
        self.pool
            .query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
            .await
    }

    /// A piece of work whose hop is that of its thread: it ends when the engine has stopped, not when nobody waits any more.
    async fn observed<T: Send + 'static>(
        &self,
        request: String,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let journal = self.journal.clone();
        self.pool
            .run(move |connection| {
                let hop = journal.start(&request, "database", None);
                let value = work(connection)?;
                hop.finish();
                Ok(value)
            })
            .await
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
