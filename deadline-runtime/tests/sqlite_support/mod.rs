//! A database file that somebody else can lock, and statements that take time.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use deadline_runtime::data::sqlite::rusqlite::Connection;
use deadline_runtime::data::sqlite::{Error, Pool, PoolOptions};
use deadline_runtime::{Budget, Context};

/// What a busy machine may add to anything.
pub const SLACK: Duration = Duration::from_millis(1_500);

/// Counts for ever.
pub const FOR_EVER: &str =
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
/// Writes for ever, as one statement.
pub const WRITE_FOR_EVER: &str = "INSERT INTO rows (text) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 'endless' FROM n";

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn request(millis: u64) -> Context {
    Context::root("request", Budget::new(ms(millis)))
}

/// A database file of its own, with a table `rows`.
pub struct File {
    dir: PathBuf,
}

impl File {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("deadline-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = Self { dir };
        let _ = std::fs::remove_file(file.path());
        file.connection()
            .execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
            .unwrap();
        file
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join("test.db")
    }

    /// Somebody else's connection.
    pub fn connection(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    pub async fn pool(&self, max: u16) -> Pool {
        PoolOptions::new()
            .max_connections(max)
            .open(self.path())
            .await
            .unwrap()
    }

    /// How many rows there are, as somebody else sees it.
    pub fn rows(&self) -> i64 {
        let count = |row: &deadline_runtime::data::sqlite::rusqlite::Row<'_>| row.get(0);
        self.connection()
            .query_row("SELECT count(*) FROM rows", [], count)
            .unwrap()
    }

    /// Takes the write lock, until the connection is dropped.
    pub fn locked(&self) -> Connection {
        let connection = self.connection();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

pub async fn count_for_ever(pool: &Pool) -> Result<i64, Error> {
    pool.query_row(FOR_EVER, (), |row| row.get(0)).await
}

pub async fn insert(pool: &Pool) -> Result<usize, Error> {
    pool.execute("INSERT INTO rows (text) VALUES (?1)", ("one",))
        .await
}

/// Waits until all connections are back.
pub async fn settled(pool: &Pool) {
    let start = Instant::now();
    while pool.in_use() > 0 {
        assert!(start.elapsed() < SLACK, "{pool:?}");
        tokio::time::sleep(ms(1)).await;
    }
}

/// Asserts that `since` is about `millis` ago.
#[track_caller]
pub fn about(since: Instant, millis: u64) {
    let elapsed = since.elapsed();
    assert!(elapsed >= ms(millis), "{elapsed:?} is before {millis} ms");
    assert!(
        elapsed < ms(millis) + SLACK,
        "{elapsed:?} instead of {millis} ms"
    );
}
