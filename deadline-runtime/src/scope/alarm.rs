//! [`Alarm`]: a timer for code that runs where tokio has none.
//!
//! One thread serves them all. It is started by the first alarm and ends when there has been none for a while. Its queue is
//! the one piece of state that belongs to the process: where there is no runtime, there is nothing else to hang it on.
//!
//! For as long as loops ask for it the same thread also [ticks](tick), so that a loop which does not read the clock in every
//! iteration looks up in time whatever a single iteration costs.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::time::Deadline;

/// How long the thread stays without work.
const IDLE: Duration = Duration::from_secs(5);

/// How far apart the ticks are.
const TICK_EVERY: Duration = Duration::from_millis(1);

/// After so many ticks that nobody asked for there are no more.
const QUIET: u32 = 100;

/// A place in the queue; it is left when this is dropped.
pub(super) struct Alarm(Key);

/// The instant, and a number that makes it unique.
type Key = (Instant, u64);

struct Queue {
    alarms: BTreeMap<Key, Waker>,
    next: u64,
    served: bool,
    ticks: Option<Ticks>,
    /// The last tick, so that no loop takes the first one of a new series for one that it has seen.
    ticked: u32,
}

struct Ticks {
    next: Instant,
    unasked: u32,
}

/// Zero while nobody ticks; otherwise it changes with every tick.
static TICK: AtomicU32 = AtomicU32::new(0);
/// A loop has relied on the ticks since the last one.
static ASKED: AtomicBool = AtomicBool::new(false);

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    alarms: BTreeMap::new(),
    next: 0,
    served: false,
    ticks: None,
    ticked: 0,
});
static CHANGED: Condvar = Condvar::new();

/// The last tick; zero while there are none.
#[inline(always)]
pub(super) fn tick() -> u32 {
    TICK.load(Ordering::Relaxed)
}

/// Keeps the ticks coming.
pub(super) fn ask_for_ticks() {
    // Mostly it is set: a store would take the cache line from all the other loops.
    if !ASKED.load(Ordering::Relaxed) {
        ASKED.store(true, Ordering::Relaxed);
    }
}

/// Begins to tick, if the system gives a thread.
pub(super) fn start_ticks() {
    let mut queue = queue();
    if queue.ticks.is_none() && queue.be_served().is_some() {
        queue.ticks = Some(Ticks {
            next: Instant::now() + TICK_EVERY,
            unasked: 0,
        });
        queue.tick();
        CHANGED.notify_one();
    }
}

impl Queue {
    fn be_served(&mut self) -> Option<()> {
        if !self.served {
            std::thread::Builder::new()
                .name("deadline-timer".into())
                .spawn(serve)
                .ok()?;
            self.served = true;
        }
        Some(())
    }

    fn is_idle(&self) -> bool {
        self.alarms.is_empty() && self.ticks.is_none()
    }

    fn tick(&mut self) {
        self.ticked = self.ticked.checked_add(1).unwrap_or(1);
        TICK.store(self.ticked, Ordering::Relaxed);
    }

    /// Ticks if it is time; returned is when the next one is due.
    fn ticks(&mut self, now: Instant) -> Option<Instant> {
        let ticks = self.ticks.as_mut()?;
        if now < ticks.next {
            return Some(ticks.next);
        }
        if ASKED.swap(false, Ordering::Relaxed) {
            ticks.unasked = 0;
        } else {
            ticks.unasked += 1;
        }
        if ticks.unasked > QUIET {
            self.ticks = None;
            TICK.store(0, Ordering::Relaxed);
            return None;
        }
        let next = now + TICK_EVERY;
        ticks.next = next;
        self.tick();
        Some(next)
    }
}

impl Alarm {
    /// `None` when the system gives no thread; the caller then has to poll on.
    pub(super) fn set(at: Deadline, waker: &Waker) -> Option<Self> {
        // The runtime's clock, which may be a paused one, is not ours on another thread: sleep by the length.
        let now = Instant::now();
        let until = now.checked_add(at.remaining()).unwrap_or(now + IDLE);
        let waker = waker.clone();
        let mut queue = queue();
        queue.be_served()?;
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
        let tick = waiting.ticks(now);
        let first = waiting.alarms.first_key_value().map(|((at, _), _)| *at);
        let first = [first, tick].into_iter().flatten().min();
        let left = first.map_or(IDLE, |at| at.saturating_duration_since(now));
        let (queue, timed_out) = CHANGED
            .wait_timeout(waiting, left)
            .unwrap_or_else(PoisonError::into_inner);
        waiting = queue;
        if first.is_none() && timed_out.timed_out() && waiting.is_idle() {
            waiting.served = false;
            return;
        }
    }
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}
