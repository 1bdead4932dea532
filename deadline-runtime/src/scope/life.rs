//! The state machine of one scope.
//!
//! ```text
//! Created ──admit──▶ Running ──stop seen──▶ Delivering ──▶ Yielded ──▶ (body dropped) Ended
//!    │                  │                       │             │
//!    │ refused          │ value                 │ value       │ value
//!    ▼                  ▼                       ▼             ▼
//!  Refused ──▶ Ended  Ended                   Ended         Ended
//!
//!              Running ──stop seen──▶ Tidying (with `cleanup`) ──end of cleanup──▶ Ended
//!
//!   (body dropped) Ended ──it has tasks──▶ Leaving ──all joined or given up──▶ Ended
//! ```
//!
//! The body is always polled first, then cause and clock are tested: a value that is ready is a value. The clock is
//! read instead of trusting a timer: a busy thread fires no timers. When the scope must stop, the body is dropped
//! before any fallback or handler runs, because a body that is kept alive may hold the very lock the handler wants.
//!
//! Most scopes have but figures to compare: one request in its own task, everything enforced, nothing that holds or yields
//! inside. They begin, wait and leave on short ways, whose names end in `plainly`. Each of those does the whole of its step or
//! none of it, and then the long way is taken, which knows every case. `tests/model.rs` holds both to one reference, and
//! `tests/causes.rs` what runs under a context made by hand.

use std::panic::Location;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use super::driver::Driver;
use super::outcome;
use super::pending::Wake;
use super::state::{Flag, Phase, State, Unenforced};
use crate::context::Mode;
use crate::context::current::{self, Frame, FrameId, Poller, Seen, Stack, first_cancel};
use crate::context::node::{Limits, Node};
use crate::stop::{Cause, Phase as StopPhase, Stopped};
use crate::time::Deadline;

/// What a pending body leads to.
pub(super) enum Next {
    /// Nothing to do until somebody wakes the task.
    Wait,
    /// Poll the body once more, now.
    Again,
    End(End),
}

/// A stop that has come to its end: the body is to be dropped.
#[derive(Clone, Copy)]
pub(super) struct End {
    now: Deadline,
    /// The await that was seen pending last.
    at: Option<&'static Location<'static>>,
}

/// The scope may not begin.
#[derive(Clone, Copy)]
pub(super) struct Refused;

/// The same as it is found out while the stack is in hand, where nothing of the user's may run.
pub(super) enum Turn {
    Wait(Option<Wake>),
    Again,
    End(End),
}

/// A scope whose frame is in place. However the poll ends, by a panic too, the scope has its node back.
pub(super) struct Running<'a>(Option<&'a mut State>);

impl<'a> Running<'a> {
    /// Of a scope that has [begun](State::begin) a poll.
    #[inline]
    pub(super) fn begun(state: &'a mut State) -> Self {
        Self(Some(state))
    }

    /// Until when the tasks of the scope are waited for.
    pub(super) fn leave_until(&mut self, until: Option<Deadline>) {
        if let Some(state) = &mut self.0 {
            state.leave_until(until);
        }
    }

    #[inline(always)]
    pub(super) fn pending(mut self, cx: &mut task::Context<'_>) -> Next {
        let state = self.0.take();
        // Nothing is left to be dropped, which would be found out at every poll.
        std::mem::forget(self);
        match state {
            Some(state) => state.pending(cx),
            None => Next::Wait,
        }
    }

    /// There is a value.
    #[inline(always)]
    pub(super) fn done(mut self) {
        let state = self.0.take();
        std::mem::forget(self);
        if let Some(state) = state
            && !state.leave_plainly()
        {
            state.leave();
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(state) = self.0.take() {
            state.leave();
        }
    }
}

impl State {
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Whether its body has been polled.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.phase, Phase::Created | Phase::Refused)
    }

    /// One look at the thread's stack. On a thread that is ending there is none: the scope runs without a frame.
    #[inline]
    fn on_stack<R>(&mut self, step: impl Fn(&mut Self, &mut Stack) -> R) -> R {
        if let Some(done) = current::visit(|stack| step(self, stack)) {
            return done;
        }
        let mut nowhere = Stack::default();
        let done = step(self, &mut nowhere);
        if let Some((frame, _)) = nowhere.top(FrameId::of(self)) {
            self.take_back(frame);
        }
        done
    }

    /// Puts the scope's frame in place. The node moves into it and comes back with it.
    #[inline(never)]
    pub(super) fn enter(&mut self, poller: Poller) {
        self.on_stack(|state, stack| {
            let also = state.meet(stack.running(poller.task));
            state.push(stack, poller, also, (state.limits(), state.mode()));
        });
    }

    #[inline]
    fn push(
        &mut self,
        stack: &mut Stack,
        poller: Poller,
        also: Option<Arc<Node>>,
        (limits, mode): (Limits, Mode),
    ) {
        let id = FrameId::of(self);
        let frame = stack.push();
        frame.also = also;
        frame.limits = limits;
        frame.operation = self.operation;
        frame.owner = self.owner;
        frame.binds = self.flags.has(Flag::Binds);
        frame.owns_node = self.flags.has(Flag::OwnsNode);
        frame.depth = self.depth;
        frame.started = self.started;
        frame.mode = mode;
        frame.poller = poller;
        frame.id = id;
        frame.stop = self.cause;
        frame.deliveries = self.deliveries;
        frame.seen = Seen::default();
        frame.node = self.node.take();
    }

    #[inline]
    pub(super) fn take_back(&mut self, frame: &mut Frame) {
        self.node = frame.node.take();
        self.flags.set(Flag::OwnsNode, frame.owns_node);
        self.deliveries = frame.deliveries;
    }

    /// Takes the frame off the stack; returned is the other request's node that was in it.
    #[inline(never)]
    pub(super) fn leave(&mut self) -> Option<Arc<Node>> {
        self.on_stack(|state, stack| {
            let (frame, outer) = stack.top(FrameId::of(state))?;
            state.take_back(frame);
            state.note_limit_hit(frame, outer);
            let also = frame.also.take();
            stack.pop();
            also
        })
    }

    /// The beginning of a poll where nothing out of the ordinary has to be seen to; false where there is, and nothing has
    /// been done.
    #[inline(always)]
    fn begin_plainly(&mut self, poller: Poller) -> bool {
        let begun = current::visit(|stack| {
            let outer = stack.running(poller.task);
            let holds = match self.phase {
                Phase::Created if outer.is_none() && self.operation.is_none() => {
                    (self.admit_made()?, Mode::Enforce)
                }
                Phase::Created => (self.admit_plainly(outer)?, Mode::Enforce),
                Phase::Running if self.is_just_inside(outer) => (self.limits(), self.mode()),
                _ => return None,
            };
            self.phase = Phase::Running;
            self.push(stack, poller, None, holds);
            Some(())
        });
        begun.flatten().is_some()
    }

    /// Whether the scope around this one is of the same request, and there is no other.
    #[inline(always)]
    fn is_just_inside(&self, outer: Option<&mut Frame>) -> bool {
        let Some(outer) = outer else { return true };
        self.node.as_ref().is_some_and(|own| outer.is_just(own))
    }

    /// Takes the frame off the stack, if that is all there is to do.
    #[inline(always)]
    fn leave_plainly(&mut self) -> bool {
        let left = current::visit(|stack| {
            let frame = stack.pop_plainly(FrameId::of(self))?;
            self.take_back(frame);
            Some(())
        });
        left.flatten().is_some()
    }

    /// The beginning of a poll: the scope's frame is in place when it is `Ready(Ok)`.
    ///
    /// Created → Running, or → Ended by a refusal. The second refusal within one poll of the outer scope waits one
    /// turn (Refused), so that a loop which swallows refusals cannot hold the thread.
    #[inline]
    pub(super) fn begin(&mut self, waker: &Waker) -> Poll<Result<(), Refused>> {
        if self.phase == Phase::Created {
            crate::trip::count();
        }
        let poller = Poller::new(waker);
        if self.begin_plainly(poller) {
            return Poll::Ready(Ok(()));
        }
        self.begin_otherwise(poller, waker)
    }

    #[inline(never)]
    fn begin_otherwise(&mut self, poller: Poller, waker: &Waker) -> Poll<Result<(), Refused>> {
        match self.phase {
            Phase::Created => {}
            Phase::Refused => return Poll::Ready(Err(Refused)),
            _ => {
                self.enter(poller);
                return Poll::Ready(Ok(()));
            }
        }
        let refusal = self.on_stack(|state, stack| {
            let admission = state.admit(stack.running(poller.task));
            match admission.refusal {
                None if !admission.unbounded => {
                    state.phase = Phase::Running;
                    state.begun();
                    state.push(
                        stack,
                        poller,
                        admission.also,
                        (state.limits(), state.mode()),
                    );
                    Ok(())
                }
                refusal => Err((refusal, admission.unbounded)),
            }
        });
        let Err((refusal, unbounded)) = refusal else {
            return Poll::Ready(Ok(()));
        };
        if unbounded {
            outcome::unbounded(self.description(), self.node.as_ref());
        }
        let Some(cause) = refusal else {
            self.phase = Phase::Running;
            self.begun();
            self.enter(poller);
            return Poll::Ready(Ok(()));
        };
        self.flags.set(Flag::Attends, false);
        self.cause = Some(cause);
        let earlier = current::with(|outer| {
            outer.seen.refusals += 1;
            outer.seen.refusals > 1
        });
        if earlier == Some(true) {
            self.phase = Phase::Refused;
            waker.wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Err(Refused))
    }

    /// Created or Refused → Ended.
    pub(super) fn refused(&mut self) -> Stopped {
        let cause = self.cause.unwrap_or(Cause::DeadlineExceeded);
        let location = self.description().location;
        let stopped = self.stopped(cause, StopPhase::Start, Deadline::now(), location);
        self.report_limit_hit(cause);
        self.end(outcome::Ended::Stopped(&stopped));
        stopped
    }

    /// The body is pending: takes the frame off, and goes on waiting or moves towards the end.
    #[inline(never)]
    fn pending(&mut self, cx: &mut task::Context<'_>) -> Next {
        let turn = current::visit(|stack| self.pend_plainly(stack)).flatten();
        match turn.unwrap_or_else(|| self.pend()) {
            Turn::Wait(wake) => {
                if let Some(wake) = wake {
                    self.arm(&wake, cx);
                }
                Next::Wait
            }
            Turn::Again => Next::Again,
            Turn::End(end) => Next::End(end),
        }
    }

    #[inline(never)]
    fn pend(&mut self) -> Turn {
        self.on_stack(|state, stack| {
            let Some((frame, outer)) = stack.top(FrameId::of(state)) else {
                return state.turn(&mut Frame::of(None), None);
            };
            state.take_back(frame);
            let turn = state.turn(frame, outer);
            stack.pop();
            turn
        })
    }

    fn turn(&mut self, frame: &mut Frame, mut outer: Option<&mut Frame>) -> Turn {
        self.note_limit_hit(frame, outer.as_deref_mut());
        self.note_holders(frame);
        if !self.mode().enforces() {
            if self.unenforced == Unenforced::Nothing {
                self.unenforced = Unenforced::Waited;
            }
            let end = self.hard.filter(|_| self.flags.has(Flag::Always));
            let now = end.map(|_| Deadline::now());
            return match (end, now) {
                (Some(end), Some(now)) if end <= now => {
                    self.cause = Some(self.limit_cause());
                    Turn::End(End {
                        now,
                        at: frame.seen.at,
                    })
                }
                _ => self.wait(frame, outer, end),
            };
        }
        // The clock is read where it decides: not on the way to an end whose cause is known.
        let now = |frame: &mut Frame| *frame.seen.now.get_or_insert_with(Deadline::now);
        match self.phase {
            Phase::Created | Phase::Refused | Phase::Ended => self.wait(frame, outer, None),
            // Running → Delivering or Tidying when there is a stop.
            Phase::Running => {
                let end = self.work_end(frame.limits.soft);
                let clock = || Some(*frame.seen.now.get_or_insert_with(Deadline::now));
                let Some(cause) = self.stop_test(frame.also.as_ref(), end, clock) else {
                    return self.wait(frame, outer, end);
                };
                // Recorded before anybody is shown it.
                self.cause = Some(cause);
                let budget = self.description().budget;
                self.phase = if budget.cleanup.is_zero() {
                    Phase::Delivering
                } else {
                    // What has been read in this poll may be from before something that took its time.
                    let until = Deadline::now().plus(budget.kept());
                    let until = self.hard.map_or(until, |hard| hard.min(until));
                    self.driver().tidy_until(until);
                    Phase::Tidying
                };
                // A guard may have read the clock before and shown the stop to the body.
                if frame.seen.yielding || self.deliveries > 0 {
                    self.come_again(frame, outer)
                } else {
                    Turn::Again
                }
            }
            // Delivering → Yielded: one turn of the scheduler, for a value that is one task-hop away. Something
            // inside that has just done the same comes first.
            Phase::Delivering => {
                if !frame.seen.yielding {
                    self.phase = Phase::Yielded;
                    frame.seen.yielding = true;
                }
                self.come_again(frame, outer)
            }
            // Yielded → Ended, unless something inside still holds.
            Phase::Yielded => {
                if frame.seen.yielding {
                    return self.come_again(frame, outer);
                }
                let now = now(frame);
                match frame.seen.hold {
                    Some(hold) if hold > now => self.wait(frame, outer, Some(hold)),
                    _ => Turn::End(End {
                        now,
                        at: frame.seen.at,
                    }),
                }
            }
            // Leaving: the tasks are cut off by the clock of their own end, not here. Ancestors wait for that as they do
            // for a shield.
            Phase::Leaving => {
                let until = self.driver().tidies_until();
                frame.seen.hold = frame.seen.hold.max(until);
                self.wait(frame, outer, until)
            }
            // Tidying → Ended at the end of the cleanup.
            Phase::Tidying => match self.driver().tidies_until() {
                Some(until) if now(frame) < until => {
                    frame.seen.hold = frame.seen.hold.max(Some(until));
                    self.wait(frame, outer, Some(until))
                }
                _ => Turn::End(End {
                    now: now(frame),
                    at: frame.seen.at,
                }),
            },
        }
    }

    /// Why the scope has to stop by now, if it has to. The order of events decides: a cancel after the end of work
    /// comes too late to be the cause. Without a clock it has not come to its end.
    #[inline]
    fn stop_test(
        &self,
        also: Option<&Arc<Node>>,
        end: Option<Deadline>,
        now: impl FnOnce() -> Option<Deadline>,
    ) -> Option<Cause> {
        if let Some((cause, at)) = first_cancel(self.node.as_ref(), also) {
            let expired = self.limits().soft.is_some_and(|soft| soft <= at);
            return Some(if expired { self.limit_cause() } else { cause });
        }
        (end? <= now()?).then(|| self.limit_cause())
    }

    /// Yielded or Tidying → Ended: the caller drops the body.
    pub(super) fn stop(&mut self, End { now, at }: End) -> Stopped {
        let cause = self.cause.unwrap_or_else(|| self.limit_cause());
        let location = at.unwrap_or(self.description().location);
        let stopped = self.stopped(cause, StopPhase::Wait, now, location);
        self.report_limit_hit(cause);
        self.end(outcome::Ended::Stopped(&stopped));
        stopped
    }

    #[inline]
    pub(super) fn completed(&mut self) {
        if outcome::is_noted(self) {
            self.end(outcome::Ended::Value);
        } else {
            self.over();
        }
    }

    /// The body was dropped by somebody else: what was known to be the cause is the cause, else `abandoned`.
    pub(super) fn dropped_from_outside(&mut self, also: Option<&Arc<Node>>) {
        let known = self.cause.or_else(|| {
            if self.mode().enforces() {
                let end = self.work_end(self.limits().soft);
                self.stop_test(also, end, Deadline::now_if_any)
            } else {
                first_cancel(self.node.as_ref(), also).map(|(cause, _)| cause)
            }
        });
        // Dropped with the body of a scope that is stopped. Its own budget is that of an ancestor here.
        let cause = known.or_else(|| match current::with(|outer| outer.stop).flatten() {
            Some(Cause::DependencyTimeout) => Some(Cause::DeadlineExceeded),
            stop => stop,
        });
        self.end(outcome::Ended::Dropped(cause.unwrap_or(Cause::Abandoned)));
        self.cause = cause;
        self.gone(true);
    }

    /// Ended → Leaving.
    pub(super) fn leave_until(&mut self, until: Option<Deadline>) {
        self.phase = Phase::Leaving;
        if let Some(until) = until {
            self.driver().tidy_until(until);
        }
    }

    /// A refusal that was held back for one turn is a refusal all the same.
    pub(super) fn dropped_before_its_start(&mut self) {
        if let (Phase::Refused, Some(cause)) = (self.phase, self.cause) {
            self.end(outcome::Ended::Dropped(cause));
        }
    }

    #[inline(never)]
    fn end(&mut self, how: outcome::Ended<'_>) {
        self.phase = Phase::Ended;
        outcome::record(self, how);
        self.over();
    }

    /// Nothing holds here and nothing is waited for any more.
    #[inline]
    pub(super) fn over(&mut self) {
        self.phase = Phase::Ended;
        if self.flags.has(Flag::Told) {
            self.flags.set(Flag::Told, false);
            current::with(|outer| outer.seen.holders -= 1);
        }
        if let Some(driver) = self.driver.take() {
            Driver::end(driver);
        }
    }
}
