//! [`Live`]: a connection inside a transaction, which somebody has to end.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::{Failure, Fault, is_an_answer};
use super::link::Link;
use super::pool::Shared;
use super::text::{self, is_echo};
use crate::data::postgres::{self, Tag};
use crate::scope::TARGET;

/// The connection of a transaction; nothing once it is over.
///
/// Wherever this is dropped, in a future that was cut, in the result of a task that nobody waits for any more, the
/// transaction is rolled back by a task of its own.
pub(super) struct Live(Option<Parts>);

pub(super) struct Parts {
    pub(super) link: Arc<Link>,
    /// Released when the connection is back in its pool, or gone.
    pub(super) slot: OwnedSemaphorePermit,
    pub(super) shared: Arc<Shared>,
    pub(super) tag: Tag,
    /// Something was sent: there may be a transaction on the server.
    pub(super) open: bool,
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
        if !parts.open {
            parts.hand_back();
            return None;
        }
        let runtime = parts.runtime.clone();
        Some(runtime.spawn(parts.clean_up()))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.roll_back();
    }
}

impl Parts {
    /// Back to the pool.
    pub(super) fn hand_back(self) {
        self.link.set_clean();
        // In this order: who gets the slot finds the connection in the pool.
        drop(self.link);
        drop(self.slot);
    }

    /// Ends the transaction: back to the pool clean, within the time for it, or closed.
    pub(super) async fn clean_up(mut self) {
        let within = self.shared.policy.cleanup;
        tracing::debug!(target: TARGET, transaction = %self.tag, running = self.busy, "rolling back");
        match timeout(within, self.roll_back()).await {
            Ok(Ok(())) => self.hand_back(),
            failed => {
                let error = failed
                    .err()
                    .map_or_else(String::new, |late| late.to_string());
                tracing::warn!(target: TARGET, transaction = %self.tag, ?within, error, "closing a database connection that could not be cleaned up");
                self.close().await;
            }
        }
    }

    /// Closes the connection, and has the server end its side: it may be busy, or not hear us.
    pub(super) async fn close(self) {
        let within = self.shared.policy.cleanup;
        if let Err(error) = self.shared.control.terminate(&self.tag, within).await {
            tracing::warn!(target: TARGET, transaction = %self.tag, %error, "the server could not be told to end a transaction");
        }
        drop(self.link);
        drop(self.slot);
    }

    async fn roll_back(&mut self) -> Result<(), Failure> {
        if self.busy {
            self.interrupt().await?;
        }
        // The round trip in which a signal that was on its way would show itself.
        let mut tries = 0;
        let sql = postgres::roll_back(&self.tag);
        loop {
            match text::first(&self.link, &sql).await {
                Ok(Some(row)) if is_echo(&row, &self.tag) => return Ok(()),
                Ok(_) => return Err(Fault("another answer than that of the rollback").into()),
                Err(error) if is_an_answer(&error) && tries < 2 => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Cancels what is running and waits for its end. The signal may be too early, when the statement has not reached
    /// the server yet: it is repeated.
    async fn interrupt(&mut self) -> Result<(), Failure> {
        let within = self.shared.policy.cleanup;
        // The driver throws away the answers that nobody waits for; this one comes after them.
        let mut quiet = std::pin::pin!(self.link.simple_query(""));
        let mut pause = Duration::from_millis(20);
        loop {
            // Without it the server's own limit ends the statement; it is only later.
            let _ = self.shared.control.cancel(&self.tag, within).await;
            match timeout(pause, quiet.as_mut()).await {
                // Also when it was the one that the cancel met.
                Ok(Err(error)) if !is_an_answer(&error) => return Err(error.into()),
                Ok(_) => {
                    self.busy = false;
                    return Ok(());
                }
                Err(_) => pause = (pause * 2).min(Duration::from_millis(200)),
            }
        }
    }
}
