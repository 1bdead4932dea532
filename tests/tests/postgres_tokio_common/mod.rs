//! Pools over tokio-postgres for the databases of the tests.
#![allow(dead_code, unreachable_pub)]

use std::net::SocketAddr;

use deadline_runtime::data::Policy;
use deadline_runtime::data::tokio_postgres::Pool;
use tokio_postgres::NoTls;

use super::postgres_common::Db;

/// What is busy with a statement, the watcher aside.
pub const ACTIVE: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND pid <> pg_backend_pid() AND state = 'active'";

/// What is inside `pg_sleep`: preparing a statement makes a backend active as well, and shows its text.
pub const SLEEPING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND wait_event = 'PgSleep'";

/// What is in a transaction, the watcher aside.
pub const IN_TRANSACTION: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'";

/// What waits in a transaction.
pub const IDLE_IN_TRANSACTION: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND state LIKE 'idle in%'";

/// deadpool's pool alone.
pub fn deadpool(url: &str, connections: usize) -> deadpool_postgres::Pool {
    let manager = deadpool_postgres::Manager::new(url.parse().unwrap(), NoTls);
    let pool = deadpool_postgres::Pool::builder(manager).max_size(connections);
    pool.build().unwrap()
}

/// A pool of ours straight to the server.
pub fn pool(db: &Db, connections: usize) -> Pool {
    pool_at(db, db.server.address(), connections, Policy::new())
}

pub fn pool_at(db: &Db, address: SocketAddr, connections: usize, policy: Policy) -> Pool {
    let url = deadline_tests::postgres::url(address, &db.name);
    Pool::with_policy(deadpool(&url, connections), policy)
}
