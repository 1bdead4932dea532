//! What the tests of the Postgres drivers share: a database, a pool, and somebody who watches from outside.
#![allow(dead_code, unreachable_pub)]

pub mod soak;

use std::net::SocketAddr;
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use deadline_runtime::data::Policy;
use deadline_runtime::data::sqlx_postgres::Pool;
use deadline_runtime::{Budget, Cause, Context, Phase, Stopped};
use deadline_tests::postgres::{Server, url};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A request with so much time.
pub fn request(millis: u64) -> Context {
    Context::root("request", Budget::new(ms(millis)))
}

/// The cause and the phase of the stop inside an error.
pub fn stop_of(error: &(dyn std::error::Error + 'static)) -> (Cause, Phase) {
    let stopped = Stopped::find(error).unwrap_or_else(|| panic!("no stop in {error:?}"));
    (stopped.cause(), stopped.phase())
}

/// A database of its own on the server of this binary.
pub struct Db {
    pub server: &'static Server,
    pub name: String,
    watcher: tokio::sync::Mutex<PgConnection>,
}

impl Db {
    pub async fn new() -> Self {
        let server = Server::shared();
        let name = tokio::task::spawn_blocking(|| server.database())
            .await
            .unwrap();
        let watcher = PgConnection::connect(&url(server.address(), &name))
            .await
            .unwrap();
        Self {
            server,
            name,
            watcher: tokio::sync::Mutex::new(watcher),
        }
    }

    /// A pool of ours straight to the server.
    pub fn pool(&self, connections: u32) -> Pool {
        self.pool_at(self.server.address(), connections, Policy::new())
    }

    pub fn pool_at(&self, address: SocketAddr, connections: u32, policy: Policy) -> Pool {
        let options = PgConnectOptions::from_str(&url(address, &self.name)).unwrap();
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .connect_lazy_with(options);
        Pool::with_policy(pool, policy)
    }

    /// Executes from outside, on a connection of nobody's pool.
    pub async fn execute(&self, sql: &str) {
        let mut watcher = self.watcher.lock().await;
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *watcher)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// One number from outside.
    pub async fn number(&self, sql: &str) -> i64 {
        let mut watcher = self.watcher.lock().await;
        let number = sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_one(&mut *watcher)
            .await;
        number.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Many numbers from outside.
    pub async fn numbers(&self, sql: &str) -> Vec<i64> {
        let mut watcher = self.watcher.lock().await;
        sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_all(&mut *watcher)
            .await
            .unwrap()
    }

    /// How many backends of this database are executing something, the watcher aside.
    pub async fn active(&self) -> i64 {
        self.number(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND pid <> pg_backend_pid() AND state = 'active'",
        )
        .await
    }

    /// How many are inside a transaction.
    pub async fn in_transaction(&self) -> i64 {
        self.number(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'",
        )
        .await
    }

    /// How many there are, by part of their name.
    pub async fn backends(&self) -> i64 {
        self.number(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
        )
        .await
    }

    /// Waits until a number from outside is what it should be.
    pub async fn until(&self, sql: &str, wanted: i64, within: Duration) -> Duration {
        let since = Instant::now();
        loop {
            let number = self.number(sql).await;
            if number == wanted {
                return since.elapsed();
            }
            assert!(
                since.elapsed() < within,
                "{sql}: {number} instead of {wanted} after {within:?}"
            );
            tokio::time::sleep(ms(2)).await;
        }
    }
}

/// Runs `test` on a runtime with threads, as servers do.
pub fn block_on<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}
