//! [`Leave`]: a scope whose body is gone and whose tasks are being joined.

use std::any::Any;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, LockResult, Mutex, PoisonError};
use std::task::{self, Poll};

use super::checkpoint::missed_by;
use super::life::{Next, Running};
use super::state::{Flag, Flags, State};
use crate::context::node::Node;
use crate::stop::{Cause, Stopped};
use crate::tasks::{Close, Gauge};
use crate::time::Deadline;

/// What is kept until everything has been joined: `V` is a value, if it can be held back.
///
/// The only part that knows its type, and not the function: everything here is compiled again for each of them.
pub struct Waiting<V> {
    leave: Leave,
    /// Behind a lock that is never taken, so that it is `Sync` and unwind safe and the scope can be as its body is. An
    /// option so that it can be taken out; it is always there.
    value: Mutex<Option<Result<V, Stopped>>>,
}

impl<V> Waiting<V> {
    pub(super) fn new(leave: Leave, value: Result<V, Stopped>) -> Self {
        Self {
            leave,
            value: Mutex::new(Some(value)),
        }
    }

    /// Waits until everything has been joined or given up.
    pub(super) fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<V, Stopped>> {
        let joined = self.leave.poll(cx);
        match unlocked(self.value.get_mut()).take_if(|_| joined.is_ready()) {
            Some(value) => {
                self.leave.done(value.as_ref().err());
                Poll::Ready(value)
            }
            None => Poll::Pending,
        }
    }
}

fn unlocked<T>(inner: LockResult<T>) -> T {
    inner.unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Leave {
    state: State,
    stopped: bool,
    /// Something stands in for the value, and that is still to be recorded.
    missing: bool,
    /// Behind a trait object, so that its parts do not count against rustc's recursion limit.
    close: Box<dyn Closes>,
}

/// [`Close`].
trait Closes: Send + Sync + UnwindSafe + RefUnwindSafe {
    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<()>;
    fn due(&self) -> Option<Deadline>;
    fn take_panic(&mut self) -> Option<Box<dyn Any + Send>>;
}

impl Closes for Mutex<Close> {
    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        unlocked(self.get_mut()).poll(cx)
    }

    fn due(&self) -> Option<Deadline> {
        unlocked(self.lock()).due()
    }

    fn take_panic(&mut self) -> Option<Box<dyn Any + Send>> {
        unlocked(self.get_mut()).take_panic()
    }
}

/// Where the value of a body waits until what the scope has spawned is joined.
pub trait Hold<T>: Sized {
    /// Whether it can be kept.
    const HOLDS: bool;
    /// Keeps it, if it can be kept.
    fn hold(value: T) -> Option<Self>;
    /// Gives it back.
    fn release(self) -> T;
}

/// It waits.
pub struct Held<T>(T);

impl<T> Hold<T> for Held<T> {
    const HOLDS: bool = true;

    fn hold(value: T) -> Option<Self> {
        Some(Self(value))
    }

    fn release(self) -> T {
        self.0
    }
}

/// It is handed out at once: a scope that held a value back would only be `Send` if the value is.
pub enum HandedOut {}

impl<T> Hold<T> for HandedOut {
    const HOLDS: bool = false;

    fn hold(_: T) -> Option<Self> {
        None
    }

    fn release(self) -> T {
        match self {}
    }
}

impl Leave {
    #[inline(never)]
    fn new(mut state: State, stopped: bool, missing: bool) -> Self {
        let close = Close::of(
            state.attends_to().map(Option::<&_>::cloned),
            state.cause_for_tasks(),
        );
        state.leave_until(close.due());
        Self {
            state,
            stopped,
            missing,
            close: Box::new(Mutex::new(close)),
        }
    }

    #[inline(never)]
    pub(super) fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        loop {
            if self.state.begin(cx.waker()).is_pending() {
                return Poll::Pending;
            }
            let mut running = Running::begun(&mut self.state);
            if self.close.poll(cx).is_ready() {
                return Poll::Ready(());
            }
            running.leave_until(self.close.due());
            match running.pending(cx) {
                Next::Again => {}
                Next::Wait | Next::End(_) => return Poll::Pending,
            }
        }
    }

    /// A task's panic goes on here, now that the others are gone.
    #[inline(never)]
    fn done(&mut self, stopped: Option<&Stopped>) {
        self.state.gone(self.stopped);
        if let Some(payload) = self.close.take_panic() {
            std::panic::resume_unwind(payload);
        }
        if let Some(stopped) = stopped.filter(|_| self.missing) {
            missed_by(stopped, &self.state);
        }
    }
}

/// Dropped meanwhile: what is left is joined by somebody else.
impl Drop for Leave {
    fn drop(&mut self) {
        self.state.gone(self.stopped);
    }
}

impl State {
    /// What is to be joined. Without anything a scope that has begun is gone.
    pub(super) fn without_body(
        mut self,
        stopped: Option<&Stopped>,
        begun: bool,
        missing: bool,
    ) -> Option<Leave> {
        if begun && self.has_tasks() {
            // Recorded as missing once they are joined: what they are stopped by is this very stop, and replaced with it.
            return Some(Leave::new(self, stopped.is_some(), missing));
        }
        if begun {
            self.gone(stopped.is_some());
        }
        if let Some(stopped) = stopped.filter(|_| missing) {
            missed_by(stopped, &self);
        }
        None
    }

    /// Whether anything hangs on the scope that has to be seen to at its end.
    #[inline]
    pub(super) fn is_attached(&self) -> bool {
        const ANY: [Flag; 4] = [Flag::OwnsNode, Flag::Attends, Flag::Counted, Flag::Told];
        self.flags.any(Flags::of(ANY))
    }

    /// Whether a scope whose body is gone has tasks to join. Mostly nothing of the kind was ever attached.
    #[inline]
    pub(super) fn has_tasks(&self) -> bool {
        (self.flags.has(Flag::OwnsNode) || self.flags.has(Flag::Attends)) && self.finds_tasks()
    }

    #[inline(never)]
    fn finds_tasks(&self) -> bool {
        let mut nodes = self.attends_to().into_iter().flatten();
        nodes.any(|node| node.is_waited_for()) && self.mode().enforces()
    }

    /// The nodes whose tasks and hooks are this scope's: its own, and the one made by hand that it runs under.
    pub(super) fn attends_to(&self) -> [Option<&Arc<Node>>; 2] {
        let own = self
            .node
            .as_ref()
            .filter(|_| self.flags.has(Flag::OwnsNode));
        let by_hand = match own {
            Some(own) => own.parent(),
            None => self.node.as_ref(),
        };
        let by_hand = by_hand.filter(|_| self.flags.has(Flag::Attends));
        // Of several runs under one context the last one sees to it.
        let by_hand = by_hand.filter(|node| node.is_run_once());
        [own, by_hand]
    }

    /// Why the tasks of this scope end.
    pub(super) fn cause_for_tasks(&self) -> Cause {
        match self.cause {
            Some(Cause::DependencyTimeout | Cause::LocalBudgetRejected) => Cause::DeadlineExceeded,
            Some(cause) => cause,
            None if std::thread::panicking() => Cause::ParentFailed,
            None => Cause::Abandoned,
        }
    }

    /// The scope begins: whoever counts is told.
    #[inline]
    pub(super) fn begun(&mut self) {
        if self.flags.has(Flag::Attends) || self.node.as_ref().is_some_and(|node| node.tracked) {
            self.note_begun();
        }
    }

    #[inline(never)]
    fn note_begun(&mut self) {
        let own = self
            .node
            .as_ref()
            .filter(|_| self.flags.has(Flag::OwnsNode));
        let by_hand = own.map_or(self.node.as_ref(), |own| own.parent());
        if let Some(node) = by_hand.filter(|_| self.flags.has(Flag::Attends)) {
            node.run_begins();
        }
        let Some(node) = &self.node else { return };
        if let Some(tracker) = node.tracker() {
            tracker.add(Gauge::Scopes, 1);
            self.flags.set(Flag::Counted, true);
            if self.depth == 0 && !node.is_background() {
                tracker.add(Gauge::Requests, 1);
                self.flags.set(Flag::CountedRequest, true);
            }
        }
    }

    /// Whether the value of the body is what became of this scope's own stop: a child meets that first, and `?` hands its
    /// error on.
    fn stop_came_through(&self) -> bool {
        let Some(node) = self.node.as_ref().filter(|node| node.mode.enforces()) else {
            return false;
        };
        let hooks = self
            .attends_to()
            .into_iter()
            .flatten()
            .any(|node| node.has_hooks());
        let Some((_, noted)) = node.noted_stop().filter(|_| hooks) else {
            return false;
        };
        let cancelled = node.signal.get().map(|(_, at)| at);
        Deadline::earlier(self.limits().soft, cancelled).is_some_and(|end| end <= noted)
    }

    /// The scope is over and its body is gone; `stopped` unless it ended with a value.
    #[inline]
    pub(super) fn gone(&mut self, stopped: bool) {
        if self.is_attached() {
            self.note_gone(stopped);
        }
    }

    #[inline(never)]
    fn note_gone(&mut self, stopped: bool) {
        self.over();
        let cause = self.cause_for_tasks();
        let stopped = stopped || self.stop_came_through();
        if let Some(own) = &self.node {
            let by_hand = if self.flags.has(Flag::OwnsNode) {
                own.left(cause, stopped);
                own.parent()
            } else {
                Some(own)
            };
            if let (true, Some(node)) = (self.flags.has(Flag::Attends), by_hand) {
                node.left(cause, stopped);
            }
            // Last: whoever waits for this finds everything else counted.
            if let Some(tracker) = own.tracker() {
                for (flag, gauge) in [
                    (Flag::Counted, Gauge::Scopes),
                    (Flag::CountedRequest, Gauge::Requests),
                ] {
                    if self.flags.has(flag) {
                        tracker.sub(gauge);
                    }
                }
            }
        }
        for flag in [
            Flag::OwnsNode,
            Flag::Attends,
            Flag::Counted,
            Flag::CountedRequest,
        ] {
            self.flags.set(flag, false);
        }
    }
}
