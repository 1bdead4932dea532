//! Databases inside the deadline: limits that the server knows, queries that are cancelled there, commits whose
//! outcome is known.
//!
//! The classic fault is a timeout that ends in the application while the query runs on, holds its locks and blocks
//! the pool. Worse ones are a commit whose outcome is guessed and a connection that goes back to its pool in the
//! middle of something. The rules, the same for every driver:
//!
//! * **Nothing is begun that cannot finish.** A transaction is not begun with less left than [`Policy::begin_min`],
//!   and with less than a millisecond left nothing is sent at all: servers read `0` as "no limit".
//! * **The server knows the limit**, so that work also ends there when this process is gone. Limits live in the
//!   transaction and never on the pooled connection.
//! * **A stop is a stop there.** The caller has its error at once; the statement is cancelled on the server, the
//!   transaction rolled back and its locks freed by a task of its own, within [`Policy::cleanup`]. A connection goes
//!   back to its pool clean, or it is closed.
//! * **A commit has three outcomes**, see [`CommitOutcome`]. It is not started after expiry, nor with less left than
//!   [`Policy::commit_min`]; once started it is never dropped, whoever leaves.
//! * **Causes come from our own state**: we cancelled, so it is our cause; the limit had passed, so it is the limit;
//!   else the server did it by itself, which is `dependency_failed`. Never from message text, which is translated,
//!   and never from an error code alone, which several events share.
//!
//! Where nothing is enforced (no context, or a [`Mode`](crate::Mode) that only looks) the drivers behave as without
//! us.
//!
//! | feature | module |
//! |---|---|
//! | `sqlx-postgres` | [`data::sqlx_postgres`](sqlx_postgres): a pool and transactions over sqlx 0.9, in place of sqlx's own |
//! | `sqlite` | [`data::sqlite`](sqlite): a pool and transactions for an embedded database, over rusqlite 0.39 |
//! | `tokio-postgres` | [`data::tokio_postgres`](self::tokio_postgres): the same around deadpool's pool of tokio-postgres connections |

// What the drivers stand on: add a driver's feature to these lines.
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
mod attempts;
#[cfg(any(
    feature = "sqlite",
    feature = "sqlx-postgres",
    feature = "tokio-postgres"
))]
mod bounds;
#[cfg(any(
    feature = "sqlite",
    feature = "sqlx-postgres",
    feature = "tokio-postgres"
))]
mod limit;
mod outcome;
mod policy;
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
mod postgres;
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
mod rows;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "sqlx-postgres")]
pub mod sqlx_postgres;
#[cfg(feature = "tokio-postgres")]
pub mod tokio_postgres;

pub use self::outcome::{CommitError, CommitOutcome, Resolution, TransactionId, UnknownCommit};
pub use self::policy::Policy;
