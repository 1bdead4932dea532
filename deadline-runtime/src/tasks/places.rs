//! [`Places`]: how many tasks of a group may run at once, and how many wait for that.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::context::Context;
use crate::scope::Run;
use crate::stop::{Cause, Phase, Stopped};

/// How many may wait unless somebody says otherwise: enough for a burst, and never a memory leak.
const QUEUE: usize = 1_024;

#[derive(Clone)]
pub(super) struct Places {
    limit: usize,
    queue: usize,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// One of the places; free again when it is dropped.
pub(super) struct Place(
    #[allow(dead_code, reason = "held, not read")] Option<OwnedSemaphorePermit>,
);

impl Place {
    /// Of a group that has no limit.
    pub(super) const fn unlimited() -> Self {
        Self(None)
    }
}

/// Waiting for a place. A turn under the task's own context: whoever is stopped in the queue never begins.
pub(super) type Turn = Pin<Box<dyn Future<Output = Result<Place, Stopped>> + Send + 'static>>;

/// How a task comes in.
pub(super) enum Entry {
    Now(Place),
    Later(Turn),
    Refused(Stopped),
}

impl Places {
    pub(super) fn new(limit: usize, queue: Option<usize>) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        let queue = queue.unwrap_or(QUEUE).min(Semaphore::MAX_PERMITS);
        Self {
            limit,
            queue,
            running: Arc::new(Semaphore::new(limit)),
            waiting: Arc::new(Semaphore::new(queue)),
        }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) const fn queue(&self) -> usize {
        self.queue
    }

    /// A place at once, one in the queue, or neither.
    pub(super) fn enter(&self, context: &Context) -> Entry {
        // Nobody overtakes: what becomes free goes to the first in the queue before it is free.
        if let Ok(permit) = self.running.clone().try_acquire_owned() {
            return Entry::Now(Place(Some(permit)));
        }
        match self.waiting.clone().try_acquire_owned() {
            Ok(seat) => {
                let turn = self.turn(context);
                Entry::Later(Box::pin(async move {
                    let place = turn.await;
                    drop(seat);
                    place
                }))
            }
            Err(_) => Entry::Refused(context.stop_error_of(Cause::Overload, Phase::Queue)),
        }
    }

    /// A place, as soon as one is free.
    pub(super) fn turn(
        &self,
        context: &Context,
    ) -> impl Future<Output = Result<Place, Stopped>> + Send + use<> {
        let running = self.running.clone();
        let acquired = Run::new(context.node().cloned(), false, async move {
            match running.acquire_owned().await {
                Ok(permit) => Place(Some(permit)),
                // Nobody closes it; if somebody did, there would be no place for good.
                Err(_) => std::future::pending().await,
            }
        });
        async move {
            acquired
                .await
                .map_err(|stopped| stopped.in_phase(Phase::Queue))
        }
    }
}
