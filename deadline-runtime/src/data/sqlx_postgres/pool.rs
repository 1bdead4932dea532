//! [`Pool`]: where transactions come from.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use sqlx::postgres::{
    PgConnectOptions, PgPool, PgPoolOptions, PgQueryResult, PgRow, PgStatement, PgTypeInfo,
};
use sqlx::{Describe, Either, Error, Execute, Executor, Postgres, SqlSafeStr, SqlStr};
use tokio::sync::{OnceCell, Semaphore};

use super::begin;
use super::connection::each;
use super::control::Control;
use super::sink::Sink;
use super::statement::Statement;
use super::transaction::Transaction;
use crate::data::bounds::Bounds;
use crate::data::postgres::Ceilings;
use crate::data::rows::{Rows, next};
use crate::data::{Policy, Resolution, TransactionId, UnknownCommit};

/// A pool of connections whose users keep to their deadlines: in place of [`sqlx::PgPool`].
///
/// `&Pool` executes queries as `&PgPool` does. Inside a context each of them is a transaction of its own, because
/// limits that the server knows live in transactions: three round trips (begin, query, commit) where sqlx has one,
/// and no id to resolve the commit by. A statement that cannot run in a transaction (`VACUUM`, `CREATE INDEX
/// CONCURRENTLY`) goes to [`sqlx`](Self::sqlx), as does everything that is to stay on a session. Rows that are
/// streamed and left before their end are rolled back.
///
/// Cheap to clone; every clone is the same pool.
///
/// ```no_run
/// use deadline_runtime::data::sqlx_postgres::Pool;
/// use deadline_runtime::deadline;
///
/// #[deadline(budget = "300ms", min = "20ms")]
/// async fn rename(pool: &Pool, user: i64, name: &str) -> Result<(), sqlx::Error> {
///     let mut tx = pool.begin().await?;
///     sqlx::query("UPDATE users SET name = $2 WHERE id = $1")
///         .bind(user)
///         .bind(name)
///         .execute(&mut *tx)
///         .await?;
///     tx.commit().await
/// }
///
/// # async fn start() -> Result<(), sqlx::Error> {
/// let pool = Pool::connect("postgres://localhost/app").await?;
/// rename(&pool, 7, "Ada").await
/// # }
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

pub(super) struct Shared {
    pub(super) pool: PgPool,
    pub(super) policy: Policy,
    /// As many as the pool has connections: whoever waits here leaves the queue by going away, and pool wait is told from
    /// connecting.
    pub(super) slots: Arc<Semaphore>,
    pub(super) control: Control,
    /// What sessions are limited to without us; asked once.
    pub(super) ceilings: OnceCell<Ceilings>,
}

impl Pool {
    /// Around a pool of sqlx's, with the default [`Policy`].
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self::with_policy(pool, Policy::new())
    }

    /// Around a pool of sqlx's.
    #[must_use]
    pub fn with_policy(pool: PgPool, policy: Policy) -> Self {
        let slots = usize::try_from(pool.options().get_max_connections());
        let slots = slots.map_or(Semaphore::MAX_PERMITS, |slots| {
            slots.min(Semaphore::MAX_PERMITS)
        });
        Self(Arc::new(Shared {
            control: Control::new(pool.clone()),
            ceilings: OnceCell::new(),
            slots: Arc::new(Semaphore::new(slots)),
            pool,
            policy,
        }))
    }

    /// Connects with sqlx's default options.
    ///
    /// # Errors
    /// sqlx's.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Ok(Self::new(PgPoolOptions::new().connect(url).await?))
    }

    /// Connects when the first connection is needed.
    ///
    /// # Errors
    /// When the URL cannot be read.
    pub fn connect_lazy(url: &str) -> Result<Self, Error> {
        Ok(Self::new(PgPoolOptions::new().connect_lazy(url)?))
    }

    /// Connects when the first connection is needed.
    #[must_use]
    pub fn connect_lazy_with(options: PgConnectOptions) -> Self {
        Self::new(PgPoolOptions::new().connect_lazy_with(options))
    }

    /// sqlx's pool below, for what must not run in a transaction. Nothing of this module holds there.
    #[must_use]
    pub fn sqlx(&self) -> &PgPool {
        &self.0.pool
    }

    pub(super) const fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// The figures it works with.
    #[must_use = "it changes nothing"]
    pub fn policy(&self) -> Policy {
        self.0.policy
    }

    /// Begins a transaction, inside the calling context.
    ///
    /// The server is told what is left in the same round trip.
    ///
    /// # Errors
    /// A [`Stopped`](crate::Stopped) inside the error: in phase `start` when less is left than
    /// [`Policy::begin_min`], `pool` when no connection came free in time, `connect`, `database`. sqlx's own otherwise.
    pub async fn begin(&self) -> Result<Transaction<'static>, Error> {
        begin::begin(&self.0, &Bounds::here(), "BEGIN").await
    }

    /// Begins a transaction with a statement of your own, such as `BEGIN ISOLATION LEVEL SERIALIZABLE`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`Error::BeginFailed`] for a statement that is not one `BEGIN` or `START
    /// TRANSACTION`.
    pub async fn begin_with(
        &self,
        statement: impl SqlSafeStr,
    ) -> Result<Transaction<'static>, Error> {
        let statement = statement.into_sql_str();
        begin::begin(&self.0, &Bounds::here(), statement.as_str()).await
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

    /// Waits until every connection is back and closes them all.
    pub async fn close(&self) {
        self.0.pool.close().await;
        self.0.control.close().await;
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.pool.is_closed()
    }

    /// How many connections it has.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.0.pool.size()
    }

    /// How many of them are idle.
    #[must_use]
    pub fn num_idle(&self) -> usize {
        self.0.pool.num_idle()
    }

    /// The options of sqlx's pool.
    #[must_use]
    pub fn options(&self) -> &PgPoolOptions {
        self.0.pool.options()
    }
}

impl From<PgPool> for Pool {
    fn from(pool: PgPool) -> Self {
        Self::new(pool)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("size", &self.size())
            .field("num_idle", &self.num_idle())
            .field("policy", &self.0.policy)
            .finish_non_exhaustive()
    }
}

impl<'c> Executor<'c> for &'c Pool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Self::Database>,
    {
        let bounds = Bounds::here();
        let statement = Statement::of(query);
        Box::pin(Rows::new(move |out| async move {
            let bounds = bounds.polled();
            if !bounds.enforced() {
                let mut items = self.sqlx().fetch_many(statement?);
                while let Some(item) = next(&mut items).await.transpose()? {
                    out.put(item).await;
                }
                return Ok(());
            }
            let mut tx = begin::begin(&self.0, &bounds, "BEGIN").await?;
            each(tx.connection(), &bounds, statement?, Sink::Stream(out)).await?;
            tx.commit_statement(&bounds).await
        }))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Self::Database>,
    {
        let mut rows = self.fetch_many(query);
        Box::pin(async move {
            let mut first = None;
            // To the end: an error may come after a row.
            while let Some(item) = next(&mut rows).await.transpose()? {
                if let (Either::Right(row), None) = (item, &first) {
                    first = Some(row);
                }
            }
            Ok(first)
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, Error>>
    where
        'c: 'e,
    {
        let bounds = Bounds::here();
        Box::pin(async move {
            let bounds = bounds.polled();
            if !bounds.enforced() {
                return self.sqlx().prepare_with(sql, parameters).await;
            }
            let mut tx = begin::begin(&self.0, &bounds, "BEGIN").await?;
            tx.connection().prepare_with(sql, parameters).await
        })
    }

    #[doc(hidden)]
    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, Error>>
    where
        'c: 'e,
    {
        self.sqlx().describe(sql)
    }
}
