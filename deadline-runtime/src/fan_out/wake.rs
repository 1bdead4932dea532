//! [`Hub`]: which branches have been woken since they were last polled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Every branch has a waker of its own, so that only those are polled that have something to do.
///
/// A branch is in the queue at most once: its flag is set from the wake-up until just before it is polled, so a wake-up
/// during the poll queues it again.
pub(super) struct Hub {
    ready: Mutex<Ready>,
    queued: Box<[AtomicBool]>,
}

#[derive(Default)]
struct Ready {
    queue: Vec<usize>,
    outer: Option<Waker>,
}

struct Bell {
    hub: Arc<Hub>,
    index: usize,
}

impl Hub {
    pub(super) fn new(branches: usize) -> Arc<Self> {
        Arc::new(Self {
            ready: Mutex::default(),
            queued: (0..branches).map(|_| AtomicBool::new(false)).collect(),
        })
    }

    pub(super) fn waker(self: &Arc<Self>, index: usize) -> Waker {
        let hub = self.clone();
        Waker::from(Arc::new(Bell { hub, index }))
    }

    /// From here on a wake-up of a branch wakes `outer`.
    pub(super) fn listen(&self, outer: &Waker) {
        let known = |ready: &Ready| ready.outer.as_ref().is_some_and(|old| old.will_wake(outer));
        if known(&self.ready()) {
            return;
        }
        // Cloned and dropped outside the lock: both may run code of the executor's.
        let new = outer.clone();
        let old = self.ready().outer.replace(new);
        drop(old);
    }

    /// Moves the queue into `batch`, which is empty, and leaves `batch` in its place.
    pub(super) fn take(&self, batch: &mut Vec<usize>) {
        std::mem::swap(&mut self.ready().queue, batch);
    }

    /// Queues a branch without waking anybody: the caller is about to take the queue.
    pub(super) fn queue(&self, index: usize) {
        if self.mark(index) {
            self.ready().queue.push(index);
        }
    }

    /// A branch is about to be polled.
    pub(super) fn begin(&self, index: usize) {
        if let Some(flag) = self.queued.get(index) {
            flag.store(false, Ordering::Release);
        }
    }

    fn ring(&self, index: usize) {
        if !self.mark(index) {
            return;
        }
        let outer = {
            let mut ready = self.ready();
            ready.queue.push(index);
            ready.outer.clone()
        };
        if let Some(outer) = outer {
            outer.wake();
        }
    }

    /// True if it was not queued yet.
    fn mark(&self, index: usize) -> bool {
        self.queued
            .get(index)
            .is_some_and(|flag| !flag.swap(true, Ordering::AcqRel))
    }

    fn ready(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.hub.ring(self.index);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.hub.ring(self.index);
    }
}
