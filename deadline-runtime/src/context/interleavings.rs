//! Every interleaving of a cancel with whoever registers, leaves, is born or is dropped meanwhile.
//!
//! What tokio does is not seen here; see [`crate::sync`] for how to run them.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Wake, Waker};

use loom::thread;

use super::mode::Mode;
use super::node::{Limits, Node, Seed};
use super::signal::{Place, Signal};
use crate::scope::Named;
use crate::stop::Cause;
use crate::sync::Ordering;
use crate::time::{Budget, Deadline};

/// Checks at the wake that the cause is there, as a task that is polled at once on another thread would.
struct Witness {
    signal: Arc<Signal>,
    woken: AtomicUsize,
}

impl Witness {
    fn of(signal: &Arc<Signal>) -> Arc<Self> {
        Arc::new(Self {
            signal: signal.clone(),
            woken: AtomicUsize::new(0),
        })
    }

    fn woken(&self) -> usize {
        self.woken.load(Ordering::Relaxed)
    }
}

impl Wake for Witness {
    fn wake(self: Arc<Self>) {
        assert!(self.signal.get().is_some(), "woken without a cause");
        self.woken.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn loom_a_wait_sees_the_cancel_or_is_woken_by_it() {
    loom::model(|| {
        let signal = Arc::new(Signal::default());
        let witness = Witness::of(&signal);
        let canceller = thread::spawn({
            let signal = signal.clone();
            move || signal.set(Cause::Shutdown, Deadline::now())
        });
        let mut place = Place::default();
        let seen = signal.register(&mut place, &Waker::from(witness.clone()));
        assert!(canceller.join().unwrap());
        assert_eq!(witness.woken(), usize::from(!seen));
        assert_eq!(signal.get().map(|(cause, _)| cause), Some(Cause::Shutdown));
        assert_eq!(signal.waiting(), 0);
    });
}

#[test]
fn loom_a_changed_waker_is_the_one_that_is_woken() {
    loom::model(|| {
        let signal = Arc::new(Signal::default());
        let (first, second) = (Witness::of(&signal), Witness::of(&signal));
        let mut place = Place::default();
        assert!(!signal.register(&mut place, &Waker::from(first.clone())));
        let canceller = thread::spawn({
            let signal = signal.clone();
            move || signal.set(Cause::Shutdown, Deadline::now())
        });
        let seen = signal.register(&mut place, &Waker::from(second.clone()));
        assert!(canceller.join().unwrap());
        // Whoever was in the list when the cancel came is woken, and no one else.
        assert_eq!(
            (first.woken(), second.woken()),
            if seen { (1, 0) } else { (0, 1) }
        );
    });
}

#[test]
fn loom_who_leaves_is_gone_whatever_comes_meanwhile() {
    loom::model(|| {
        let signal = Arc::new(Signal::default());
        let (leaves, stays) = (Witness::of(&signal), Witness::of(&signal));
        let mut place = Place::default();
        let mut other = Place::default();
        assert!(!signal.register(&mut place, &Waker::from(leaves.clone())));
        assert!(!signal.register(&mut other, &Waker::from(stays.clone())));
        let canceller = thread::spawn({
            let signal = signal.clone();
            move || signal.set(Cause::Shutdown, Deadline::now())
        });
        signal.unregister(&mut place);
        assert!(canceller.join().unwrap());
        assert_eq!(stays.woken(), 1);
        assert!(leaves.woken() <= 1);
        signal.unregister(&mut other);
        assert_eq!(signal.waiting(), 0);
    });
}

#[test]
fn loom_of_two_cancels_one_wins_for_everyone() {
    loom::model(|| {
        let signal = Arc::new(Signal::default());
        let witness = Witness::of(&signal);
        let mut place = Place::default();
        assert!(!signal.register(&mut place, &Waker::from(witness.clone())));
        let cancel = |cause| {
            let signal = signal.clone();
            thread::spawn(move || signal.set(cause, Deadline::now()))
        };
        let one = cancel(Cause::Shutdown);
        let two = cancel(Cause::ClientCancelled);
        let (one, two) = (one.join().unwrap(), two.join().unwrap());
        assert_ne!(one, two);
        let winner = if one {
            Cause::Shutdown
        } else {
            Cause::ClientCancelled
        };
        assert_eq!(signal.get().map(|(cause, _)| cause), Some(winner));
        assert_eq!(witness.woken(), 1);
    });
}

fn seed() -> Seed {
    let location = Location::caller();
    let operation = Named::new("test", location, &Budget::inherited());
    Seed {
        limits: Limits::default(),
        limit: operation.limit(),
        own: false,
        started: Deadline::now(),
        mode: Mode::Enforce,
        depth: 0,
        of_scope: false,
        operation,
    }
}

fn cause_of(node: &Node) -> Option<Cause> {
    node.signal.get().map(|(cause, _)| cause)
}

#[test]
fn loom_a_child_born_during_the_cancel_is_cancelled() {
    loom::model(|| {
        let parent = Node::root(seed(), None);
        let canceller = thread::spawn({
            let parent = parent.clone();
            move || parent.cancel(Cause::Shutdown)
        });
        let child = Node::child(&parent, seed());
        let grandchild = Node::child(&child, seed());
        assert!(canceller.join().unwrap());
        assert_eq!(cause_of(&child), Some(Cause::Shutdown));
        assert_eq!(cause_of(&grandchild), Some(Cause::Shutdown));
    });
}

#[test]
fn loom_each_has_one_cause_and_those_below_one_of_the_two() {
    loom::model(|| {
        let parent = Node::root(seed(), None);
        let child = Node::child(&parent, seed());
        let grandchild = Node::child(&child, seed());
        let canceller = thread::spawn({
            let parent = parent.clone();
            move || parent.cancel(Cause::Shutdown)
        });
        let ours = child.cancel(Cause::SiblingFailed);
        assert!(canceller.join().unwrap());
        assert_eq!(cause_of(&parent), Some(Cause::Shutdown));
        let expected = if ours {
            Cause::SiblingFailed
        } else {
            Cause::Shutdown
        };
        assert_eq!(cause_of(&child), Some(expected));
        assert!(cause_of(&grandchild).is_some());
    });
}

#[test]
fn loom_a_child_dropped_during_the_cancel_leaves_the_list() {
    loom::model(|| {
        let parent = Node::root(seed(), None);
        let child = Node::child(&parent, seed());
        let grandchild = Node::child(&child, seed());
        drop(child);
        let canceller = thread::spawn({
            let parent = parent.clone();
            move || parent.cancel(Cause::Shutdown)
        });
        // The last handle of the chain: its ancestors go with it, from this thread or from the other one.
        drop(grandchild);
        assert!(canceller.join().unwrap());
        assert_eq!(parent.child_count(), 0);
    });
}
