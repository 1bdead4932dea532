//! An embedded `SQLite` database: a pool and transactions over rusqlite, whose statements stop with the request.
//!
//! Dropping the future that waits for a query stops nothing: the thread goes on, keeps the lock and the connection. Here
//! `SQLite` itself asks, every 1,000 of its instructions and whenever it waits for a lock, whether anybody still wants
//! the answer.
//!
//! * **A statement ends with the context it is awaited in**, a few milliseconds after the deadline at most; so does the
//!   wait for a lock. The waiter has its error at the deadline itself. With less than a millisecond left nothing is begun.
//! * **Dropping a future or a transaction, at any point,** interrupts what runs, rolls back, and hands the connection
//!   back: clean, or it is closed. No statement of the next borrower can be met, because nobody is interrupted from outside:
//!   what stops a statement belongs to that statement.
//! * **A transaction takes the write lock when it begins** (`BEGIN IMMEDIATE`), so that the only place where it waits is the one that
//!   is bounded anyway, and not with less left than [`Policy::begin_min`](super::Policy::begin_min).
//! * **A stopped statement ends its transaction.** `SQLite` rolls all of it back, and what followed would be committed one by one; the
//!   object refuses everything that follows ([`Error::Poisoned`]).
//! * **A commit is refused until the last moment** at which nothing has happened yet, when the waits are over and before the first
//!   byte is made durable; from there on it is not interrupted. So it is known whether a waiter that left had left before: then it
//!   is [`NotCommitted`](super::CommitOutcome::NotCommitted), else [`Unknown`](super::CommitOutcome::Unknown).
//!   The same holds for statements outside transactions, which commit by themselves.
//!
//! Of the [`Policy`](super::Policy) counts here: `begin_min`, `commit_min`, and `cleanup` for [`Transaction::rollback`]. A lock is waited for as long as
//! the context has left, and for 5 s where there is no deadline, as rusqlite does.
//!
//! Work is handed over as a closure that runs on a thread for blocking work, with the context as the ambient one.
//! What the closure does besides `SQLite` is not interrupted; its connection is busy until it is done. All of this needs a
//! tokio runtime, which may be another one each time. A paused clock stands still while a statement runs, so that tests of services
//! that are kept here go on as if it took no time.
//!
//! ```
//! use std::time::Duration;
//! use deadline_runtime::data::sqlite::Pool;
//! use deadline_runtime::{Cause, Stopped, deadline};
//!
//! #[deadline(budget = "2s")]
//! async fn pay(pool: &Pool, from: i64, to: i64, cents: i64) -> Result<i64, AppError> {
//!     let mut tx = pool.begin().await?;
//!     tx.execute("UPDATE accounts SET cents = cents - ?2 WHERE id = ?1", (from, cents)).await?;
//!     tx.execute("UPDATE accounts SET cents = cents + ?2 WHERE id = ?1", (to, cents)).await?;
//!     let left = tx.query_row("SELECT cents FROM accounts WHERE id = ?1", (from,), |row| row.get(0)).await?;
//!     tx.commit().await?;
//!     Ok(left)
//! }
//!
//! #[deadline(budget = "100ms")]
//! async fn count_for_ever(pool: &Pool) -> Result<i64, AppError> {
//!     let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
//!     Ok(pool.query_row(sql, (), |row| row.get(0)).await?)
//! }
//!
//! # type AppError = Box<dyn std::error::Error + Send + Sync>;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), AppError> {
//! let pool = Pool::in_memory().await?;
//! let schema = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0));
//!               INSERT INTO accounts VALUES (1, 500), (2, 0);";
//! pool.run(move |connection| connection.execute_batch(schema)).await?;
//! assert_eq!(pay(&pool, 1, 2, 200).await?, 300);
//! // The constraint holds, and nothing of the second payment is kept.
//! assert!(pay(&pool, 1, 2, 400).await.is_err());
//!
//! let error = count_for_ever(&pool).await.unwrap_err();
//! let stopped = Stopped::find(&*error).expect("it was stopped");
//! assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
//! # Ok(())
//! # }
//! ```

mod error;
mod hooks;
mod job;
mod lease;
mod options;
mod perform;
mod pool;
mod transaction;

pub use rusqlite;

pub use self::error::Error;
pub use self::options::PoolOptions;
pub use self::pool::Pool;
pub use self::transaction::Transaction;
