//! Postgres over tokio-postgres 0.7 and deadpool-postgres 0.14.

mod begin;
mod commit;
mod connection;
mod control;
mod error;
mod link;
mod live;
mod options;
mod pool;
mod retry;
mod stream;
mod text;
mod transaction;

pub use self::connection::Connection;
pub use self::error::Error;
pub use self::options::TransactionOptions;
pub use self::pool::Pool;
pub use self::stream::RowStream;
pub use self::transaction::Transaction;
