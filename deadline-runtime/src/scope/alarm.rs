//! [`Alarm`]: a timer for code that runs where tokio has none.
//!
//! One thread serves them all. It is started by the first alarm and ends when there has been none for a while. Its queue is
//! the one piece of state that belongs to the process: where there is no runtime, there is nothing else to hang it on.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::time::Deadline;

/// How long the thread stays without work.
const IDLE: Duration = Duration::from_secs(5);

/// A place in the queue; it is left when this is dropped.
pub(super) struct Alarm(Key);

/// The instant, and a number that makes it unique.
type Key = (Instant, u64);

struct Queue {
    alarms: BTreeMap<Key, Waker>,
    next: u64,
    served: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    alarms: BTreeMap::new(),
    next: 0,
    served: false,
});
static CHANGED: Condvar = Condvar::new();

impl Alarm {
    /// `None` when the system gives no thread; the caller then has to poll on.
    pub(super) fn set(at: Deadline, waker: &Waker) -> Option<Self> {
        // The runtime's clock, which may be a paused one, is not ours on another thread: sleep by the length.
        let now = Instant::now();
        let until = now.checked_add(at.remaining()).unwrap_or(now + IDLE);
        let waker = waker.clone();
        let mut queue = queue();
        if !queue.served {
            std::thread::Builder::new()
                .name("deadline-timer".into())
                .spawn(serve)
                .ok()?;
            queue.served = true;
        }
        let key = (until, queue.next);
        queue.next += 1;
        queue.alarms.insert(key, waker);
        if queue
            .alarms
            .first_key_value()
            .is_some_and(|(first, _)| *first == key)
        {
            CHANGED.notify_one();
        }
        Some(Self(key))
    }

    /// Wakes this waker instead; false when the alarm has gone off already.
    pub(super) fn wake_with(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        let replaced = queue()
            .alarms
            .get_mut(&self.0)
            .map(|entry| std::mem::replace(entry, waker));
        replaced.is_some()
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // Dropped outside the lock: the last waker of a task drops its future, which may have an alarm.
        let removed = queue().alarms.remove(&self.0);
        drop(removed);
    }
}

fn serve() {
    let mut waiting = queue();
    loop {
        let now = Instant::now();
        let mut due = Vec::new();
        while let Some(entry) = waiting
            .alarms
            .first_entry()
            .filter(|entry| entry.key().0 <= now)
        {
            due.push(entry.remove());
        }
        if !due.is_empty() {
            drop(waiting);
            for waker in due {
                // A waker that panics must not silence the others.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
            waiting = queue();
            continue;
        }
        let first = waiting.alarms.first_key_value().map(|((at, _), _)| *at);
        let left = first.map_or(IDLE, |at| at.saturating_duration_since(now));
        let (queue, timed_out) = CHANGED
            .wait_timeout(waiting, left)
            .unwrap_or_else(PoisonError::into_inner);
        waiting = queue;
        if first.is_none() && timed_out.timed_out() && waiting.alarms.is_empty() {
            waiting.served = false;
            return;
        }
    }
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}
