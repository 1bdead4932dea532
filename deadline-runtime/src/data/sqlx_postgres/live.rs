//! [`Live`]: a connection inside a transaction, which somebody has to end.

use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Error, Executor as _, Postgres};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::pool::Shared;
use super::statement::{Statement, is_echo};
use crate::data::postgres::{self, Tag};
use crate::scope::TARGET;

/// The connection of a transaction that is open on the server; nothing once it is over.
///
/// Wherever this is dropped, in a future that was cut, in the result of a task that nobody waits for any more, the
/// transaction is rolled back by a task of its own.
pub(super) struct Live(Option<Parts>);

pub(super) struct Parts {
    pub(super) connection: PoolConnection<Postgres>,
    /// Released when the connection is back in its pool, or gone.
    pub(super) slot: OwnedSemaphorePermit,
    pub(super) shared: Arc<Shared>,
    pub(super) tag: Tag,
    /// Something was sent whose end has not been read.
    pub(super) busy: bool,
    /// Destructors may run where there is no runtime.
    pub(super) runtime: Handle,
}

impl Live {
    pub(super) const fn new(parts: Parts) -> Self {
        Self(Some(parts))
    }

    pub(super) const fn parts(&mut self) -> Option<&mut Parts> {
        self.0.as_mut()
    }

    /// Everything that was sent has been answered.
    pub(super) const fn set_idle(&mut self) {
        if let Some(parts) = &mut self.0 {
            parts.busy = false;
        }
    }

    pub(super) const fn take(&mut self) -> Option<Parts> {
        self.0.take()
    }

    /// Cancels what is running, in a task of its own, and gives the transaction back for what a savepoint leaves of
    /// it; nothing if that did not go well.
    pub(super) fn recover(&mut self) -> Option<JoinHandle<Self>> {
        let mut parts = self.take()?;
        let runtime = parts.runtime.clone();
        let _entered = runtime.enter();
        Some(runtime.spawn(async move {
            let within = parts.shared.policy.cleanup;
            if matches!(timeout(within, parts.interrupt()).await, Ok(Ok(()))) {
                return Self::new(parts);
            }
            parts.close().await;
            Self(None)
        }))
    }

    /// Rolls back, in a task of its own.
    pub(super) fn roll_back(&mut self) -> Option<JoinHandle<()>> {
        let parts = self.take()?;
        let runtime = parts.runtime.clone();
        // A runtime that is shutting down drops the task here, and the driver's connection looks for one.
        let _entered = runtime.enter();
        Some(runtime.spawn(parts.clean_up()))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.roll_back();
    }
}

impl Parts {
    /// Ends the transaction: back to the pool clean, within the time for it, or closed.
    pub(super) async fn clean_up(mut self) {
        let within = self.shared.policy.cleanup;
        tracing::debug!(target: TARGET, transaction = %self.tag, running = self.busy, "rolling back");
        if matches!(timeout(within, self.roll_back()).await, Ok(Ok(()))) {
            // In this order: who gets the slot finds the connection on its way to the pool.
            drop(self.connection);
            drop(self.slot);
            return;
        }
        tracing::warn!(target: TARGET, transaction = %self.tag, ?within, "closing a database connection that could not be cleaned up");
        self.close().await;
    }

    /// Closes the connection, and has the server end its side: it may be busy, or not hear us.
    pub(super) async fn close(self) {
        let within = self.shared.policy.cleanup;
        if let Err(error) = self.shared.control.terminate(&self.tag, within).await {
            tracing::warn!(target: TARGET, transaction = %self.tag, %error, "the server could not be told to end a transaction");
        }
        // Without a farewell, which may take as long as everything else on this connection.
        drop(self.connection.detach());
        drop(self.slot);
    }

    async fn roll_back(&mut self) -> Result<(), Error> {
        if self.busy {
            self.interrupt().await?;
        }
        // The round trip in which a signal that was on its way would show itself.
        let mut tries = 0;
        loop {
            let text = Statement::text(postgres::roll_back(&self.tag));
            match (&mut *self.connection).fetch_optional(text).await {
                Ok(Some(row)) if is_echo(&row, &self.tag) => return Ok(()),
                Ok(_) => {
                    return Err(Error::Protocol(
                        "another answer than that of the rollback".into(),
                    ));
                }
                Err(Error::Database(_)) if tries < 2 => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Cancels what is running and reads its end. The signal may be too early, when the statement has not reached the
    /// server yet: it is repeated.
    async fn interrupt(&mut self) -> Result<(), Error> {
        let within = self.shared.policy.cleanup;
        let mut quiet = std::pin::pin!(drain(&mut self.connection));
        let mut pause = Duration::from_millis(20);
        loop {
            // Without it the server's own limit ends the statement; it is only later.
            let _ = self.shared.control.cancel(&self.tag, within).await;
            if let Ok(drained) = timeout(pause, quiet.as_mut()).await {
                self.busy = false;
                return drained;
            }
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }
}

/// Reads everything that is outstanding. A statement that was cancelled ends with an error, which the driver would
/// take for that of whatever it does next.
async fn drain(connection: &mut PoolConnection<Postgres>) -> Result<(), Error> {
    const ERRORS: usize = 8;
    for _ in 0..ERRORS {
        match connection.ping().await {
            Err(Error::Database(_)) => {}
            done => return done,
        }
    }
    connection.ping().await
}
