//! [`Pool`]: where transactions come from.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{OnceCell, Semaphore};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, SimpleQueryMessage, ToStatement};

use super::begin;
use super::control::Control;
use super::error::Error;
use super::options::TransactionOptions;
use super::stream::RowStream;
use super::transaction::Transaction;
use crate::data::bounds::Bounds;
use crate::data::postgres::Ceilings;
use crate::data::rows::next;
use crate::data::{Policy, Resolution, TransactionId, UnknownCommit};

/// A pool of connections whose users keep to their deadlines: around [`deadpool_postgres::Pool`].
///
/// It executes single statements as a client does. Inside a context each of them is a transaction of its own, because
/// limits that the server knows live in transactions; its `BEGIN` goes with it, so that the commit is all that it
/// costs. A statement that cannot run in a transaction (`VACUUM`, `CREATE INDEX CONCURRENTLY`) goes to
/// [`deadpool`](Self::deadpool), as does everything that is to stay on a session.
///
/// Cheap to clone; every clone is the same pool.
///
/// ```no_run
/// use deadline_runtime::data::tokio_postgres::{Error, Pool};
/// use deadline_runtime::deadline;
///
/// #[deadline(budget = "300ms", min = "20ms")]
/// async fn rename(pool: &Pool, user: i64, name: &str) -> Result<(), Error> {
///     let mut tx = pool.begin().await?;
///     tx.execute("UPDATE users SET name = $2 WHERE id = $1", &[&user, &name]).await?;
///     tx.commit().await
/// }
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// let manager = deadpool_postgres::Manager::new("host=localhost dbname=app".parse()?, tokio_postgres::NoTls);
/// let pool = Pool::new(deadpool_postgres::Pool::builder(manager).max_size(16).build()?);
/// rename(&pool, 7, "Ada").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

pub(super) struct Shared {
    pub(super) pool: deadpool_postgres::Pool,
    pub(super) policy: Policy,
    /// As many as the pool has connections: pool wait is told from connecting.
    pub(super) slots: Arc<Semaphore>,
    pub(super) control: Control,
    /// What sessions are limited to without us; asked once.
    pub(super) ceilings: OnceCell<Ceilings>,
}

/// A statement of its own: made from the client, bounded by the context that makes or polls it.
macro_rules! alone {
    ($self:ident, |$client:ident| $statement:expr) => {{
        let bounds = Bounds::here();
        async move {
            let bounds = bounds.polled();
            if !bounds.enforced() {
                let $client = $self.deadpool().get().await?;
                return Ok($statement.await?);
            }
            let mut tx = $self.begin_in(&bounds, TransactionOptions::new()).await?;
            let $client = tx.connection().ready(&bounds).await?;
            let value = tx.connection().drive(&bounds, true, $statement).await?;
            drop($client);
            tx.commit_statement(&bounds).await?;
            Ok(value)
        }
    }};
}

impl Pool {
    /// Around a pool of deadpool's, with the default [`Policy`].
    #[must_use]
    pub fn new(pool: deadpool_postgres::Pool) -> Self {
        Self::with_policy(pool, Policy::new())
    }

    /// Around a pool of deadpool's. Its size counts as it is now.
    #[must_use]
    pub fn with_policy(pool: deadpool_postgres::Pool, policy: Policy) -> Self {
        let slots = pool.status().max_size.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Shared {
            control: Control::new(pool.clone()),
            ceilings: OnceCell::new(),
            slots: Arc::new(Semaphore::new(slots)),
            pool,
            policy,
        }))
    }

    /// deadpool's pool below, for what must not run in a transaction. Nothing of this module holds there.
    #[must_use]
    pub fn deadpool(&self) -> &deadpool_postgres::Pool {
        &self.0.pool
    }

    /// The figures it works with.
    #[must_use = "it changes nothing"]
    pub fn policy(&self) -> Policy {
        self.0.policy
    }

    /// Begins a transaction, inside the calling context.
    ///
    /// The `BEGIN` and what is left go to the server together with the first statement.
    ///
    /// # Errors
    /// [`Error::Stopped`]: in phase `start` when less is left than [`Policy::begin_min`], `pool` when no connection
    /// came free in time, `connect`. The pool's and the driver's own otherwise.
    pub async fn begin(&self) -> Result<Transaction<'static>, Error> {
        self.begin_with(TransactionOptions::new()).await
    }

    /// Begins a transaction with an isolation level and the like.
    ///
    /// # Errors
    /// As [`begin`](Self::begin). What the server thinks of the options comes with the first statement.
    pub async fn begin_with(
        &self,
        options: TransactionOptions,
    ) -> Result<Transaction<'static>, Error> {
        self.begin_in(&Bounds::here(), options).await
    }

    pub(super) async fn begin_in(
        &self,
        bounds: &Bounds,
        options: TransactionOptions,
    ) -> Result<Transaction<'static>, Error> {
        begin::begin(&self.0, bounds, options).await
    }

    /// As [`tokio_postgres::Client::query`].
    ///
    /// # Errors
    /// Those of a begin, of a statement and of a commit.
    pub fn query<T>(
        &self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        alone!(self, |client| client.query(statement, params))
    }

    /// Row by row, as [`tokio_postgres::Client::query_raw`]. Rows that are left before their end are rolled back.
    ///
    /// # Errors
    /// As [`query`](Self::query), as the last item.
    pub fn query_stream<'a, T>(
        &'a self,
        statement: &'a T,
        params: &'a [&'a (dyn ToSql + Sync)],
    ) -> RowStream<'a>
    where
        T: ?Sized + ToStatement + Sync,
    {
        let bounds = Bounds::here();
        RowStream::new(move |out| async move {
            let bounds = bounds.polled();
            if !bounds.enforced() {
                let client = self.deadpool().get().await?;
                let rows = client.query_raw(statement, params.iter().copied());
                let mut rows = Box::pin(rows.await?);
                while let Some(row) = next(&mut rows).await.transpose()? {
                    out.put(row).await;
                }
                return Ok(());
            }
            let options = TransactionOptions::new();
            let mut tx = self.begin_in(&bounds, options).await?;
            tx.connection()
                .each(&bounds, statement, params, &out)
                .await?;
            tx.commit_statement(&bounds).await
        })
    }

    /// As [`tokio_postgres::Client::query_one`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_one<T>(
        &self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<Row, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        alone!(self, |client| client.query_one(statement, params))
    }

    /// As [`tokio_postgres::Client::query_opt`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_opt<T>(
        &self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<Option<Row>, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        alone!(self, |client| client.query_opt(statement, params))
    }

    /// As [`tokio_postgres::Client::query_typed`]: one round trip less than a text that is prepared beforehand.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_typed(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send {
        alone!(self, |client| client.query_typed(sql, params))
    }

    /// As [`tokio_postgres::Client::execute`]: the number of rows.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn execute<T>(
        &self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<u64, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        alone!(self, |client| client.execute(statement, params))
    }

    /// As [`tokio_postgres::Client::execute_typed`]: one round trip less than a text that is prepared beforehand.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn execute_typed(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> impl Future<Output = Result<u64, Error>> + Send {
        alone!(self, |client| client.execute_typed(sql, params))
    }

    /// As [`tokio_postgres::Client::batch_execute`]: several statements in one text, which is all of one transaction.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn batch_execute(&self, sql: &str) -> impl Future<Output = Result<(), Error>> + Send {
        alone!(self, |client| client.batch_execute(sql))
    }

    /// As [`tokio_postgres::Client::simple_query`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn simple_query(
        &self,
        sql: &str,
    ) -> impl Future<Output = Result<Vec<SimpleQueryMessage>, Error>> + Send {
        alone!(self, |client| client.simple_query(sql))
    }

    /// Asks the server what became of a commit.
    ///
    /// One that is still under way is asked about again, for as long as the [`Policy::cleanup`] lasts or the calling
    /// context allows. Without an id the answer is [`Resolution::Unknown`].
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn resolve(&self, commit: &UnknownCommit) -> Result<Resolution, Error> {
        match commit.transaction() {
            Some(id) => self.resolve_id(id).await,
            None => Ok(Resolution::Unknown),
        }
    }

    /// As [`resolve`](Self::resolve), for an id that was kept.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn resolve_id(&self, id: TransactionId) -> Result<Resolution, Error> {
        let asked = self.0.control.resolve(id, self.0.policy.cleanup);
        Bounds::here().run(crate::Phase::Database, asked).await?
    }

    /// Closes what is idle, and the rest as it comes back. Nothing can be begun from now on.
    pub async fn close(&self) {
        self.0.slots.close();
        self.0.pool.close();
        self.0.control.close().await;
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.pool.is_closed()
    }

    /// How many connections it has, and how many of them are idle.
    #[must_use]
    pub fn status(&self) -> deadpool_postgres::Status {
        self.0.pool.status()
    }
}

impl From<deadpool_postgres::Pool> for Pool {
    fn from(pool: deadpool_postgres::Pool) -> Self {
        Self::new(pool)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("status", &self.status())
            .field("policy", &self.0.policy)
            .finish_non_exhaustive()
    }
}
