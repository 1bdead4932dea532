//! Postgres over sqlx 0.9: a [`Pool`] and a [`Transaction`] in place of [`sqlx::PgPool`] and [`sqlx::PgTransaction`].
//!
//! Both execute queries as sqlx's do, so a repository keeps its code, `query!` and `query_as!` among it, and changes
//! two types:
//!
//! ```no_run
//! use deadline_runtime::data::sqlx_postgres::{Pool, Transaction};
//! use deadline_runtime::{Context, Stopped, deadline};
//!
//! struct Accounts {
//!     pool: Pool, // was sqlx::PgPool
//! }
//!
//! impl Accounts {
//!     #[deadline(budget = "300ms", min = "20ms")]
//!     async fn transfer(&self, from: i64, to: i64, cents: i64) -> Result<(), sqlx::Error> {
//!         let mut tx = self.pool.begin().await?;
//!         sqlx::query("UPDATE accounts SET cents = cents - $2 WHERE id = $1")
//!             .bind(from)
//!             .bind(cents)
//!             .execute(&mut *tx)
//!             .await?;
//!         credit(&mut tx, to, cents).await?;
//!         tx.commit().await
//!     }
//! }
//!
//! // was &mut sqlx::PgTransaction<'_>
//! async fn credit(tx: &mut Transaction<'_>, to: i64, cents: i64) -> Result<(), sqlx::Error> {
//!     sqlx::query("UPDATE accounts SET cents = cents + $2 WHERE id = $1")
//!         .bind(to)
//!         .bind(cents)
//!         .execute(&mut **tx)
//!         .await?;
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
//! | `begin` is dropped on its way | an open transaction in the pool; the next borrower's writes vanish | it goes on in a task, is rolled back, goes to the pool |
//! | a query outlives its deadline | the caller leaves, the server works on, the next borrower waits | cancelled on the server over a connection of its own, locks freed, connection back in the pool |
//! | the cancel comes too late for its query | meets the next one | nothing is sent on the connection until the cancel is answered and what was outstanding is read |
//! | the pool is exhausted | waiting and a slow query look alike; cancelled connects pile up | phases `pool`, `connect`, `database`; a connect survives its waiter |
//! | the transaction has failed and is committed | `Ok` | the server's error |
//! | a deferred trigger runs in the commit | no timeout holds | it runs before, under the limit |
//! | the deadline passes during the commit | dropped, and committed later | [`CommitOutcome::Unknown`](super::CommitOutcome::Unknown), and [`Pool::resolve`] |
//! | the rollback is not answered | waited for | bounded, then closed |
//!
//! # What the server knows
//!
//! `statement_timeout`, `idle_in_transaction_session_timeout` and, with
//! [`Policy::lock_wait`](super::Policy::lock_wait), `lock_timeout` are set in the round trip of the `BEGIN`, always
//! as `SET LOCAL`, never above what the role or the server is limited to anyway (asked once a pool).
//! `application_name` is the request's id with a unique part, so `pg_stat_activity` says who it works for.
//!
//! `statement_timeout` counts for each statement anew, so the server is told again before a statement when it would
//! be more patient than we are by 5 ms and a tenth of what is left. For a text without arguments that goes in the
//! same message; before one with arguments it is a round trip of its own, because sqlx waits for the answer of what
//! it sent before. Our own cancel does not depend on it.
//!
//! # Round trips
//!
//! | | sqlx | here |
//! |---|---|---|
//! | `begin` | 1 | 1 |
//! | a statement in a transaction | 1 | 1, or 2 when the limit is told again |
//! | `commit` | 1 | 2, the first for the id by which it can be resolved; 1 with [`Policy::resolvable(false)`](super::Policy::resolvable) |
//! | a query on the pool, inside a context | 1 | 3: it is a transaction |
//! | the same without a context | 1 | 1: it is sqlx's |
//!
//! sqlx tests an idle connection before it hands it out, which is one more everywhere (`test_before_acquire`).
//!
//! # What it cannot do
//!
//! * [`sqlx::Acquire`] is not implemented: it hands out sqlx's own connection and transaction, whose commit reports a
//!   failed transaction as committed. Functions generic over it take [`sqlx::PgExecutor`], or a [`&mut
//!   Connection`](Connection), instead.
//! * A function that takes `&mut PgConnection` takes [`&mut Connection`](Connection) instead.
//! * `LISTEN`, session-level locks and settings, and what cannot run in a transaction belong on [`Pool::sqlx`].
//! * Cancelling needs a server that shows a role its own backends in `pg_stat_activity` (all do), and one connection
//!   beside the pool's.
//!
//! sqlx's `macros` feature is enabled: an executor has one method more with it, and a library cannot know whether
//! somebody else in the build has enabled it.

mod begin;
mod commit;
mod connection;
mod control;
mod error;
mod live;
mod pool;
mod retry;
mod sink;
mod statement;
mod transaction;

pub use self::connection::Connection;
pub use self::pool::Pool;
pub use self::transaction::Transaction;
