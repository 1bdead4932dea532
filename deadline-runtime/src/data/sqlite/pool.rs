//! [`Pool`]: connections, each in one pair of hands at a time.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Params, Row};

use super::lease::{Home, Lease};
use super::perform::{Kind, perform};
use super::{Error, PoolOptions, Transaction};
use crate::data::Policy;
use crate::data::bounds::Bounds;
use crate::stop::Phase;

/// A pool of connections to one database. Cheap to clone; every clone is the same pool.
///
/// What is done outside a transaction commits statement by statement. A stop before the first of them is
/// [`Error::Stopped`] and leaves nothing behind; one that comes later is an
/// [unknown commit](crate::data::CommitError::Unknown), because something is kept or may be.
#[derive(Clone)]
pub struct Pool(Arc<Home>);

impl Pool {
    pub(super) fn of(home: Home) -> Self {
        Self(Arc::new(home))
    }

    /// Opens a database file with the default [options](PoolOptions).
    ///
    /// # Errors
    /// [`Error::Sqlite`] if it cannot be opened.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::task::spawn_blocking`] does.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        PoolOptions::new().open(path).await
    }

    /// A new database in memory, with the default [options](PoolOptions). It ends with the pool.
    ///
    /// # Errors
    /// [`Error::Sqlite`] if it cannot be made.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::task::spawn_blocking`] does.
    pub async fn in_memory() -> Result<Self, Error> {
        PoolOptions::new().in_memory().await
    }

    /// Runs a closure on a connection, outside any transaction of ours, on a thread for blocking work and with the
    /// context as the ambient one. It may hold a transaction of its own from beginning to end.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run<T, W>(&self, work: W) -> impl Future<Output = Result<T, Error>> + Send
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let bounds = Bounds::here();
        async move {
            let bounds = bounds.polled();
            let lease = self.lease(&bounds, Duration::ZERO).await?;
            let done = perform(lease, &bounds, Kind::Alone, work).await;
            done.result.map_err(|failure| failure.of_statement(&bounds))
        }
    }

    /// Executes one statement; how many rows it changed.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn execute<P>(
        &self,
        sql: impl Into<Cow<'static, str>>,
        params: P,
    ) -> impl Future<Output = Result<usize, Error>> + Send
    where
        P: Params + Send + 'static,
    {
        self.run(statements::execute(sql.into(), params))
    }

    /// The first row of a query; [`rusqlite::Error::QueryReturnedNoRows`] if there is none.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn query_row<T, P, R>(
        &self,
        sql: impl Into<Cow<'static, str>>,
        params: P,
        read: R,
    ) -> impl Future<Output = Result<T, Error>> + Send
    where
        T: Send + 'static,
        P: Params + Send + 'static,
        R: FnOnce(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(statements::query_row(sql.into(), params, read))
    }

    /// Every row of a query.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn query_all<T, P, R>(
        &self,
        sql: impl Into<Cow<'static, str>>,
        params: P,
        read: R,
    ) -> impl Future<Output = Result<Vec<T>, Error>> + Send
    where
        T: Send + 'static,
        P: Params + Send + 'static,
        R: FnMut(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(statements::query_all(sql.into(), params, read))
    }

    /// Begins a transaction that may write: it holds the write lock from here on (`BEGIN IMMEDIATE`).
    ///
    /// # Errors
    /// [`Error::Stopped`]: refused, with less left than [`Policy::begin_min`] or nothing; or stopped while it
    /// waited for a connection (phase `pool`) or for the lock (phase `database`). Nothing is open then.
    pub fn begin(&self) -> impl Future<Output = Result<Transaction, Error>> + Send {
        self.begin_with("BEGIN IMMEDIATE")
    }

    /// Begins a transaction that reads: all its queries see the database at the moment of the first one, and no
    /// writer is kept waiting by its beginning (`BEGIN DEFERRED`).
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_read(&self) -> impl Future<Output = Result<Transaction, Error>> + Send {
        self.begin_with("BEGIN DEFERRED")
    }

    fn begin_with(
        &self,
        sql: &'static str,
    ) -> impl Future<Output = Result<Transaction, Error>> + Send {
        let bounds = Bounds::here();
        async move {
            let bounds = bounds.polled();
            let lease = self.lease(&bounds, self.0.policy.begin_min).await?;
            let begin = move |connection: &Connection| connection.execute_batch(sql);
            let done = perform(lease, &bounds, Kind::Begin, begin).await;
            match (done.result, done.lease) {
                (Ok(()), Some(lease)) => Ok(Transaction::begun(lease, bounds)),
                (Ok(()), None) => Err(Error::Lost),
                (Err(failure), _) => Err(failure.of_statement(&bounds)),
            }
        }
    }

    /// Runs a closure inside a transaction, commits it if that ends well and rolls it back if not.
    ///
    /// ```
    /// use deadline_runtime::data::sqlite::{Error, Pool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Error> {
    /// let pool = Pool::in_memory().await?;
    /// let rows = pool
    ///     .transaction(async |tx| {
    ///         tx.execute("CREATE TABLE events (text TEXT NOT NULL)", ()).await?;
    ///         tx.execute("INSERT INTO events VALUES (?1)", ("opened",)).await
    ///     })
    ///     .await?;
    /// assert_eq!(rows, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The closure's own; or [`Error`], of which [`Error::Commit`] says that it is not committed or not known to be.
    pub async fn transaction<T, E>(
        &self,
        work: impl AsyncFnOnce(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<Error>,
    {
        let mut tx = self.begin().await?;
        match work(&mut tx).await {
            Ok(value) => {
                tx.commit().await?;
                Ok(value)
            }
            Err(error) => {
                // The work's own error is the one to return.
                let _ = tx.rollback().await;
                Err(error)
            }
        }
    }

    /// The limits.
    pub fn policy(&self) -> Policy {
        self.0.policy
    }

    /// How many connections are out: somebody has them, or they still end a statement that nobody waits for.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.0.in_use()
    }

    /// How many open connections nobody has.
    #[must_use]
    pub fn num_idle(&self) -> usize {
        self.0.idle().len()
    }

    /// Closes the pool: nothing new is begun, idle connections are closed. Then waits until the others are back, which are
    /// closed as well.
    pub async fn close(&self) {
        self.0.close();
        loop {
            let back = self.0.back.notified();
            if self.in_use() == 0 {
                return;
            }
            back.await;
        }
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.slots.is_closed()
    }

    /// A connection, or the right to open one, with `least` left when it is there.
    async fn lease(&self, bounds: &Bounds, least: Duration) -> Result<Lease, Error> {
        bounds.admit(least)?;
        let slot = self.0.slots.clone().acquire_owned();
        let Ok(permit) = bounds.run(Phase::Pool, slot).await? else {
            return Err(Error::Closed);
        };
        // It may have been waited for.
        bounds.admit(least)?;
        Ok(Lease::new(&self.0, permit))
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("in_use", &self.in_use())
            .field("num_idle", &self.num_idle())
            .field("policy", &self.policy())
            .finish_non_exhaustive()
    }
}

/// The usual pieces of work, on statements that are prepared once a connection.
pub(super) mod statements {
    use super::{Connection, Cow, Params, Row};

    pub(in super::super) fn execute<P: Params>(
        sql: Cow<'static, str>,
        params: P,
    ) -> impl FnOnce(&Connection) -> rusqlite::Result<usize> {
        move |connection| connection.prepare_cached(&sql)?.execute(params)
    }

    pub(in super::super) fn query_row<T, P: Params>(
        sql: Cow<'static, str>,
        params: P,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> impl FnOnce(&Connection) -> rusqlite::Result<T> {
        move |connection| connection.prepare_cached(&sql)?.query_row(params, read)
    }

    pub(in super::super) fn query_all<T, P: Params>(
        sql: Cow<'static, str>,
        params: P,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> impl FnOnce(&Connection) -> rusqlite::Result<Vec<T>> {
        move |connection| {
            let mut query = connection.prepare_cached(&sql)?;
            let rows = query.query_map(params, read)?;
            rows.collect()
        }
    }
}
