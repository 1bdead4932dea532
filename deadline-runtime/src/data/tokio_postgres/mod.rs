//! Postgres over tokio-postgres 0.7: a [`Pool`] around deadpool's, and a [`Transaction`] in place of the driver's.
//!
//! What is promised is the same as with [`data::sqlx_postgres`](super); the methods are the driver's:
//!
//! ```no_run
//! use deadline_runtime::data::tokio_postgres::{Connection, Error, Pool};
//! use deadline_runtime::{Stopped, deadline};
//!
//! struct Accounts {
//!     pool: Pool, // was deadpool_postgres::Pool
//! }
//!
//! impl Accounts {
//!     #[deadline(budget = "300ms", min = "20ms")]
//!     async fn transfer(&self, from: i64, to: i64, cents: i64) -> Result<(), Error> {
//!         let mut tx = self.pool.begin().await?;
//!         tx.execute("UPDATE accounts SET cents = cents - $2 WHERE id = $1", &[&from, &cents]).await?;
//!         credit(&mut tx, to, cents).await?;
//!         tx.commit().await
//!     }
//! }
//!
//! // was &tokio_postgres::Transaction<'_>
//! async fn credit(tx: &mut Connection, to: i64, cents: i64) -> Result<(), Error> {
//!     tx.execute("UPDATE accounts SET cents = cents + $2 WHERE id = $1", &[&to, &cents]).await?;
//!     Ok(())
//! }
//!
//! async fn handler(accounts: &Accounts) -> u16 {
//!     match accounts.transfer(1, 2, 100).await {
//!         Ok(()) => 200,
//!         Err(error) => Stopped::find(&error).map_or(500, |_| 504),
//!     }
//! }
//! ```
//!
//! # What happens when
//!
//! | | without us | here |
//! |---|---|---|
//! | a query outlives its deadline | the caller leaves, the server works on, the next borrower waits | cancelled on the server over a connection of its own, locks freed, connection back in the pool |
//! | the cancel comes too late for its query | [`cancel_query`](tokio_postgres::CancelToken::cancel_query) comes back before the signal lands, which meets the next one | the cancel is awaited and what was outstanding is read before anything else is sent |
//! | a connection cannot be cleaned up in time | it goes back to the pool | it is closed, and its backend ended from elsewhere |
//! | the pool is exhausted | waiting and a slow query look alike; cancelled connects pile up | phases `pool`, `connect`, `database`; a connect survives its waiter |
//! | the transaction has failed and is committed | `Ok` | the server's error |
//! | a deferred trigger runs in the commit | no timeout holds | it runs before, under the limit |
//! | the deadline passes during the commit | dropped, and committed later | [`CommitOutcome::Unknown`](super::CommitOutcome::Unknown), and [`Pool::resolve`] |
//! | the rollback is not answered | the next borrower waits for it | bounded, then closed |
//!
//! # What the server knows
//!
//! `statement_timeout`, `idle_in_transaction_session_timeout` and, with
//! [`Policy::lock_wait`](super::Policy::lock_wait), `lock_timeout`, always as `SET LOCAL`, never above what the role
//! or the server is limited to anyway (asked once a pool). `application_name` is the request's id with a unique part,
//! so `pg_stat_activity` says who it works for.
//!
//! The driver sends without waiting for answers, and so do we: the `BEGIN` goes with the first statement, and before
//! each later one the server is told anew what is left, both without a round trip. Nothing is open on the server
//! before there is something to do.
//!
//! A `BEGIN` can fail only when somebody else cancels it in that very moment. A statement that was behind it in one
//! message has then run by itself, and its error is [`CommitError::Unknown`](super::CommitError::Unknown): it may have
//! happened.
//!
//! # Round trips
//!
//! | | the driver | here |
//! |---|---|---|
//! | `begin` | 1 | 0 |
//! | a prepared statement, a typed one, a batch | 1 | 1 |
//! | a text, which is prepared first | 2 | 2 |
//! | `commit` | 1 | 2, the first for the id by which it can be resolved; 1 with [`Policy::resolvable(false)`](super::Policy::resolvable) |
//! | a statement on the pool, inside a context | 1 or 2 | one more: it is a transaction |
//! | the same without a context | 1 or 2 | as the driver's |
//!
//! # What it cannot do
//!
//! * Methods take `&mut self`, so statements of one transaction are not sent beside each other; functions that take
//!   `&Transaction` or a `GenericClient` take [`&mut Connection`](Connection) instead.
//! * Isolation levels are set with [`TransactionOptions`] instead of a builder.
//! * `COPY`, portals and row streams of your own run on [`Connection::client`], with the server's limits only.
//! * `LISTEN`, session-level locks and settings, and what cannot run in a transaction belong on [`Pool::deadpool`].
//! * A connection that has died in the pool without the driver knowing is found by the first statement; with
//!   [`RecyclingMethod::Verified`](deadpool_postgres::RecyclingMethod::Verified) it is found before.
//! * Cancelling needs a server that shows a role its own backends in `pg_stat_activity` (all do), and one connection
//!   beside the pool's.

mod begin;
mod behind;
mod commit;
mod connection;
mod control;
mod error;
mod link;
mod live;
mod options;
mod pool;
mod retry;
mod statements;
mod stream;
mod text;
mod transaction;

pub use self::connection::Connection;
pub use self::error::Error;
pub use self::options::TransactionOptions;
pub use self::pool::Pool;
pub use self::stream::RowStream;
pub use self::transaction::Transaction;
