//! [`PoolOptions`]: how a pool is made.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::lease::Home;
use super::{Error, Pool, hooks};
use crate::data::Policy;

/// What is done to every connection when it is new.
type OnOpen = Arc<dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync>;

/// How a pool is made: how many connections, what is done to each when it is new, the limits.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::data::Policy;
/// use deadline_runtime::data::sqlite::PoolOptions;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), deadline_runtime::data::sqlite::Error> {
/// # let dir = std::env::temp_dir().join(format!("deadline-options-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("shop.db");
/// let pool = PoolOptions::new()
///     .max_connections(8)
///     .policy(Policy::new().begin_min(Duration::from_millis(20)))
///     // Readers and the writer do not wait for each other.
///     .on_open(|connection| connection.execute_batch("PRAGMA journal_mode = WAL"))
///     .open(path)
///     .await?;
/// # drop(pool);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until a pool is opened with them"]
pub struct PoolOptions {
    max: usize,
    policy: Policy,
    on_open: Option<OnOpen>,
}

impl PoolOptions {
    /// 4 connections, the limits of [`Policy::new`].
    pub const fn new() -> Self {
        Self {
            max: 4,
            policy: Policy::new(),
            on_open: None,
        }
    }

    /// The most connections that are out at once, at least one. `SQLite` has one writer at a time, whatever this says.
    pub fn max_connections(mut self, max: u16) -> Self {
        self.max = usize::from(max.max(1));
        self
    }

    /// The limits for beginning and committing.
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// What is done to every connection when it is new: pragmas, functions, collations. Without a deadline, because a
    /// connection outlives the request that happened to open it.
    ///
    /// The authorizer, the progress and the busy handler and the commit hook of a connection are the pool's.
    pub fn on_open(
        mut self,
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.on_open = Some(Arc::new(work));
        self
    }

    /// Opens a database file, made if there is none, with a first connection.
    ///
    /// # Errors
    /// [`Error::Sqlite`] if it cannot be opened, or what [`on_open`](Self::on_open) says.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::task::spawn_blocking`] does.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<Pool, Error> {
        self.build(Place::File(path.as_ref().to_owned())).await
    }

    /// A new database in memory. All connections of the pool see the same one; it ends with the pool.
    ///
    /// # Errors
    /// What [`on_open`](Self::on_open) says.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::task::spawn_blocking`] does.
    pub async fn in_memory(self) -> Result<Pool, Error> {
        // A name like no other: this process finds the database by it.
        let name = format!("{:016x}", RandomState::new().hash_one(()));
        self.build(Place::Memory(name)).await
    }

    async fn build(self, place: Place) -> Result<Pool, Error> {
        let Self {
            max,
            policy,
            on_open,
        } = self;
        let source = Source { place, on_open };
        let opened = tokio::task::spawn_blocking(move || {
            let anchor = match source.place {
                Place::File(_) => None,
                Place::Memory(_) => Some(source.place.open()?),
            };
            let first = source.open()?;
            Ok::<_, rusqlite::Error>(Home::new(source, policy, max, first, anchor))
        });
        match opened.await {
            Ok(home) => Ok(Pool::of(home?)),
            Err(_) => Err(Error::Lost),
        }
    }
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolOptions")
            .field("max_connections", &self.max)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Where connections come from.
pub(super) struct Source {
    place: Place,
    on_open: Option<OnOpen>,
}

enum Place {
    File(PathBuf),
    Memory(String),
}

impl Source {
    pub(super) fn open(&self) -> rusqlite::Result<Connection> {
        let connection = self.place.open()?;
        hooks::install(&connection)?;
        if let Some(on_open) = &self.on_open {
            // Whoever happens to need the connection first may be stopped meanwhile.
            crate::context::Context::none().enter(|| on_open(&connection))?;
        }
        Ok(connection)
    }
}

impl Place {
    fn open(&self) -> rusqlite::Result<Connection> {
        match self {
            Self::File(path) => Connection::open(path),
            // Shared by all connections that name it, with locks like those of a file.
            Self::Memory(name) => Connection::open(format!("file:/deadline-{name}?vfs=memdb")),
        }
    }
}
