//! An embedded `SQLite` database whose queries stop with the request that waits for them.
//!
//! A query runs on a thread of its own: dropping the future that waits for it does not stop it. `SQLite` asks a progress
//! handler every few thousand instructions, and that asks the context.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadline_runtime::Context;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::error::AppError;
use crate::journal::Journal;

#[derive(Clone)]
pub struct Database {
    connection: Arc<Mutex<Connection>>,
    journal: Journal,
}

impl Database {
    pub fn open(journal: Journal) -> rusqlite::Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, user TEXT NOT NULL, item TEXT NOT NULL);
             INSERT INTO orders (user, item) VALUES ('ada', 'loom'), ('ada', 'punched cards'), ('grace', 'compiler');
             CREATE TABLE invoices (id INTEGER PRIMARY KEY, user TEXT NOT NULL);
             CREATE TABLE events (id INTEGER PRIMARY KEY, text TEXT NOT NULL);",
        )?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            journal,
        })
    }

    /// The items a user ordered, by a query that takes `slow` to run.
    pub async fn orders(
        &self,
        request: String,
        user: String,
        slow: Duration,
    ) -> Result<Vec<String>, AppError> {
        self.run(request, move |connection| {
            let start = Instant::now();
            connection.create_scalar_function("elapsed_ms", 0, FunctionFlags::SQLITE_UTF8, move |_| {
                Ok(i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX))
            })?;
            let slow = i64::try_from(slow.as_millis()).unwrap_or(i64::MAX);
            // Counts until the time is up: work for the engine, not a sleep.
            connection.query_row(
                "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE elapsed_ms() < ?1) SELECT max(x) FROM n",
                [slow],
                |_| Ok(()),
            )?;
            let mut query = connection.prepare("SELECT item FROM orders WHERE user = ?1 ORDER BY id")?;
            query.query_map([user], |row| row.get(0))?.collect()
        })
        .await
    }

    /// Writes an invoice and its event, both or none.
    pub async fn invoice(&self, request: String, user: String) -> Result<(), AppError> {
        self.run(request, move |connection| {
            let transaction = connection.transaction()?;
            transaction.execute("INSERT INTO invoices (user) VALUES (?1)", [&user])?;
            transaction.execute(
                "INSERT INTO events (text) VALUES ('invoiced ' || ?1)",
                [&user],
            )?;
            transaction.commit()
        })
        .await
    }

    /// How many invoices and events there are.
    pub fn written(&self) -> rusqlite::Result<(i64, i64)> {
        let connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connection.query_row(
            "SELECT (SELECT count(*) FROM invoices), (SELECT count(*) FROM events)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    async fn run<T: Send + 'static>(
        &self,
        request: String,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, AppError> {
        let context = Context::current();
        let this = self.clone();
        let query = move || {
            let mut connection = this
                .connection
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // The thread may have been waiting for the connection for long.
            context.check()?;
            let hop = this.journal.start(&request, "database", None);
            connection.progress_handler(
                1_000,
                Some({
                    let context = context.clone();
                    move || context.check().is_err()
                }),
            )?;
            let result = work(&mut connection);
            connection.progress_handler(0, None::<fn() -> bool>)?;
            match result {
                Ok(value) => {
                    hop.finish();
                    Ok(value)
                }
                // Decided by our own state: the same code also means an interrupt by somebody else.
                Err(error) => Err(context
                    .check()
                    .map_or_else(AppError::from, |()| AppError::from(error))),
            }
        };
        tokio::task::spawn_blocking(query).await?
    }
}
