//! Postgres over [sqlx](sqlx_crate) 0.9.

mod begin;
mod commit;
mod connection;
mod control;
mod error;
mod live;
mod pool;
mod retry;
mod rows;
mod statement;
mod transaction;

pub use self::connection::Connection;
pub use self::pool::Pool;
pub use self::transaction::Transaction;
