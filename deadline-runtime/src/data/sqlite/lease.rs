//! [`Lease`]: one connection in one pair of hands, and [`Home`], where it goes back to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::hooks;
use super::options::Source;
use crate::data::Policy;

/// What a pool is made of.
pub(super) struct Home {
    pub(super) source: Source,
    pub(super) policy: Policy,
    /// One permit a connection that may be out.
    pub(super) slots: Arc<Semaphore>,
    /// Somebody has brought a connection back.
    pub(super) back: Notify,
    max: usize,
    idle: Mutex<Vec<Connection>>,
    /// Never used: a database in memory lives as long as a connection to it.
    _anchor: Mutex<Option<Connection>>,
}

impl Home {
    pub(super) fn new(
        source: Source,
        policy: Policy,
        max: usize,
        first: Connection,
        anchor: Option<Connection>,
    ) -> Self {
        Self {
            source,
            policy,
            slots: Arc::new(Semaphore::new(max)),
            back: Notify::new(),
            max,
            idle: Mutex::new(vec![first]),
            _anchor: Mutex::new(anchor),
        }
    }

    pub(super) fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_use(&self) -> usize {
        self.max.saturating_sub(self.slots.available_permits())
    }

    pub(super) fn close(&self) {
        self.slots.close();
        let idle = std::mem::take(&mut *self.idle());
        drop(idle);
    }

    fn take_back(&self, connection: Connection) {
        let mut idle = self.idle();
        // Looked at under the lock: whoever closes the pool empties the list after that.
        if !self.slots.is_closed() {
            idle.push(connection);
        }
    }
}

/// A connection that is out, or the right to open one.
///
/// However it is dropped, the connection goes back without a transaction, or it is closed.
pub(super) struct Lease {
    connection: Option<Connection>,
    home: Arc<Home>,
    slot: Option<Slot>,
    /// There is no thread to hand it to any more.
    last: bool,
}

impl Lease {
    pub(super) fn new(home: &Arc<Home>, permit: OwnedSemaphorePermit) -> Self {
        Self {
            connection: home.idle().pop(),
            home: home.clone(),
            slot: Some(Slot {
                permit: Some(permit),
                home: home.clone(),
            }),
            last: false,
        }
    }

    /// The connection, opened if there was none idle.
    pub(super) fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        match self.connection {
            Some(ref mut connection) => Ok(connection),
            None => Ok(self.connection.insert(self.home.source.open()?)),
        }
    }

    /// Whether a transaction is open on it.
    pub(super) fn is_open(&self) -> bool {
        self.connection
            .as_ref()
            .is_some_and(|connection| !connection.is_autocommit())
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.home.policy
    }

    /// Rolls back what is open; blocks. A connection that cannot be cleaned is closed, which rolls back as well.
    pub(super) fn tidy(&mut self) {
        let Some(connection) = self
            .connection
            .take_if(|connection| !connection.is_autocommit())
        else {
            return;
        };
        let rolled_back =
            hooks::disarm(&connection).and_then(|()| connection.execute_batch("ROLLBACK"));
        match rolled_back {
            Ok(()) if connection.is_autocommit() => self.connection = Some(connection),
            Ok(()) => {
                tracing::warn!(target: crate::scope::TARGET, "a connection was closed in its transaction");
            }
            Err(error) => {
                tracing::warn!(target: crate::scope::TARGET, %error, "a connection was closed: it could not be rolled back");
            }
        }
    }
}

/// The right to be out; given back last.
struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    home: Arc<Home>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.permit = None;
        self.home.back.notify_waiters();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        if connection.is_autocommit() {
            self.home.take_back(connection);
            return;
        }
        let mut lease = Self {
            connection: Some(connection),
            home: self.home.clone(),
            slot: self.slot.take(),
            last: true,
        };
        match Handle::try_current() {
            // A runtime that is shutting down drops the closure, and the lease in it for the last time.
            Ok(runtime) if !self.last => {
                runtime.spawn_blocking(move || lease.tidy());
            }
            _ => {
                lease.tidy();
                if let Some(connection) = lease.connection.take() {
                    lease.home.take_back(connection);
                }
            }
        }
    }
}
