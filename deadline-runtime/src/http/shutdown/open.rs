//! The requests in flight.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use tokio::sync::watch;

use crate::context::Context;
use crate::stop::Cause;

/// What is open, and how many that is for whoever waits.
pub(in crate::http) struct InFlight {
    contexts: Mutex<Slab<Context>>,
    count: watch::Sender<usize>,
}

impl Default for InFlight {
    fn default() -> Self {
        Self {
            contexts: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }
}

impl InFlight {
    pub(super) fn open(self: &Arc<Self>, context: &Context) -> Open {
        let mut contexts = self.contexts();
        let key = contexts.insert(context.clone());
        self.count.send_replace(contexts.len());
        Open {
            all: self.clone(),
            key,
        }
    }

    pub(super) fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits until there is none.
    pub(super) async fn none(&self) {
        let mut count = self.count.subscribe();
        // The sender is `self`, so it cannot be gone.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Cancels what is open; returns how many were not over already.
    pub(super) fn stop(&self) -> usize {
        // Outside the lock: whoever is woken may end, and leaves the list by it.
        let open: Vec<_> = self
            .contexts()
            .iter()
            .map(|(_, context)| context.clone())
            .collect();
        open.iter()
            .filter(|context| context.cancel(Cause::Shutdown))
            .count()
    }

    fn contexts(&self) -> MutexGuard<'_, Slab<Context>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request in flight, until it is dropped.
pub(in crate::http) struct Open {
    all: Arc<InFlight>,
    key: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut contexts = self.all.contexts();
        let context = contexts.try_remove(self.key);
        self.all.count.send_replace(contexts.len());
        drop(contexts);
        drop(context);
    }
}
