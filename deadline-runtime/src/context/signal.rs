//! [`Signal`]: one cancel flag and the wakers that wait for it.
//!
//! Order, everywhere: the cause is recorded first, the flag second, the wakers are woken last. In any other
//! order a waiter can see that it was cancelled and find no cause. The flag and the cause are one atomic here,
//! so that they cannot be seen apart; the instant is written before it.

use std::num::NonZeroUsize;
use std::sync::PoisonError;
use std::task::Waker;

use super::few::Few;
use crate::stop::Cause;
use crate::sync::{AtomicU8, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::time::Deadline;

#[derive(Default)]
pub(crate) struct Signal {
    /// Zero while nothing has happened, then the number of the cause for good.
    cause: AtomicU8,
    /// When it was cancelled; written under the lock, before the cause.
    at: AtomicU64,
    /// Mostly there is one, the task of the request itself.
    waiters: Mutex<Few<Waker>>,
}

/// A place among the waiters of one signal.
#[derive(Default)]
pub(crate) struct Place {
    key: Option<NonZeroUsize>,
    /// The waker that is stored there, by its addresses. It lives for as long as the key means anything, so that neither can
    /// have been reused.
    waker: (usize, usize),
}

/// What tells one waker from another while both are alive.
pub(crate) fn addresses(waker: &Waker) -> (usize, usize) {
    (
        waker.data().addr(),
        std::ptr::from_ref(waker.vtable()).addr(),
    )
}

impl Signal {
    /// Why and when it was cancelled.
    pub(crate) fn get(&self) -> Option<(Cause, Deadline)> {
        let cause = Cause::from_number(self.cause.load(Ordering::Acquire))?;
        Some((cause, Deadline::from_bits(self.at.load(Ordering::Relaxed))?))
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.cause.load(Ordering::Acquire) != 0
    }

    /// Records the first cause and wakes everybody; false if there was one already.
    pub(crate) fn set(&self, cause: Cause, at: Deadline) -> bool {
        // Woken outside the lock: a waker may run arbitrary code, even our own.
        let woken = {
            let mut waiters = self.waiters();
            if self.cause.load(Ordering::Relaxed) != 0 {
                return false;
            }
            self.at.store(at.to_bits(), Ordering::Relaxed);
            self.cause.store(cause.number(), Ordering::Release);
            std::mem::take(&mut *waiters)
        };
        woken.consume(Waker::wake);
        true
    }

    /// Asks to be woken; true if it was cancelled already, in which case nothing is stored.
    pub(crate) fn register(&self, place: &mut Place, waker: &Waker) -> bool {
        if self.cause.load(Ordering::Acquire) != 0 {
            return true;
        }
        if place.key.is_some() && place.waker == addresses(waker) {
            return false;
        }
        // Cloning and dropping a waker may run arbitrary code as well: the last one of a task drops its future.
        let stored = waker.clone();
        let addresses = addresses(&stored);
        let replaced = {
            let mut waiters = self.waiters();
            if self.cause.load(Ordering::Relaxed) != 0 {
                return true;
            }
            if let Some(entry) = place.key.and_then(|key| waiters.get_mut(key.get() - 1)) {
                Some(std::mem::replace(entry, stored))
            } else {
                place.key = NonZeroUsize::MIN.checked_add(waiters.insert(stored));
                None
            }
        };
        place.waker = addresses;
        drop(replaced);
        false
    }

    pub(crate) fn unregister(&self, place: &mut Place) {
        // A cancelled signal has handed its wakers out: the key means nothing any more.
        if let Some(key) = place.key.take()
            && self.cause.load(Ordering::Acquire) == 0
        {
            let removed = {
                let mut waiters = self.waiters();
                if self.cause.load(Ordering::Relaxed) == 0 {
                    waiters.remove(key.get() - 1)
                } else {
                    None
                }
            };
            drop(removed);
        }
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn waiting(&self) -> usize {
        self.waiters().len()
    }

    fn waiters(&self) -> MutexGuard<'_, Few<Waker>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(deadline_loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_first_cause_wins_and_wakes_once() {
        let signal = Signal::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut place = Place::default();
        assert!(!signal.register(&mut place, &waker));
        assert!(!signal.register(&mut place, &waker));
        assert_eq!(signal.waiting(), 1);
        let at = Deadline::now();
        assert!(signal.set(Cause::Shutdown, at));
        assert!(!signal.set(Cause::ClientCancelled, at));
        assert_eq!(signal.get(), Some((Cause::Shutdown, at)));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(signal.register(&mut Place::default(), &waker));
        signal.unregister(&mut place);
        assert_eq!(signal.waiting(), 0);
    }

    /// A waker that takes its waiter away when it is woken, as the waker of a task that is gone does.
    #[test]
    fn a_waker_may_use_the_signal_that_wakes_it() {
        struct Leaves(Arc<Signal>, Mutex<Place>);
        impl Wake for Leaves {
            fn wake(self: Arc<Self>) {
                self.0.unregister(&mut self.1.lock().unwrap());
                assert!(self.0.register(&mut Place::default(), Waker::noop()));
            }
        }
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let signal = Arc::new(Signal::default());
            let leaves = Arc::new(Leaves(signal.clone(), Mutex::default()));
            let mut place = Place::default();
            signal.register(&mut place, &Waker::from(leaves.clone()));
            *leaves.1.lock().unwrap() = place;
            signal.set(Cause::Shutdown, Deadline::now());
            let _ = done.send(());
        });
        assert!(
            wait.recv_timeout(std::time::Duration::from_secs(10))
                .is_ok()
        );
    }

    /// Replacing the last waker of a task drops its future, which may wait on the same signal.
    #[test]
    fn a_replaced_waker_may_use_the_signal_when_it_is_dropped() {
        struct Leaves(Arc<Signal>, Mutex<Place>);
        impl Wake for Leaves {
            fn wake(self: Arc<Self>) {}
        }
        impl Drop for Leaves {
            fn drop(&mut self) {
                self.0.unregister(&mut self.1.lock().unwrap());
            }
        }
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let signal = Arc::new(Signal::default());
            let mut other = Place::default();
            signal.register(&mut other, Waker::noop());
            let waker = Waker::from(Arc::new(Leaves(signal.clone(), Mutex::new(other))));
            let mut place = Place::default();
            signal.register(&mut place, &waker);
            drop(waker);
            signal.register(&mut place, Waker::noop());
            let _ = done.send(signal.waiting());
        });
        let waiting = wait.recv_timeout(std::time::Duration::from_secs(10));
        assert_eq!(waiting, Ok(1));
    }

    #[test]
    fn unregistering_leaves_nothing_behind() {
        let signal = Signal::default();
        let waker = Waker::from(Arc::new(Count::default()));
        let mut places: Vec<Place> = (0..100).map(|_| Place::default()).collect();
        for place in &mut places {
            signal.register(place, &waker);
        }
        assert_eq!(signal.waiting(), 100);
        for place in &mut places {
            signal.unregister(place);
        }
        assert_eq!(signal.waiting(), 0);
    }
}
