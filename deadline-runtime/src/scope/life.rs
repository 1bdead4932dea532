//! [`Life`]: the state machine of one scope.
//!
//! ```text
//! Created ──admit──▶ Running ──stop seen──▶ Delivering ──▶ Yielded ──▶ (body dropped) Ended
//!    │                  │                       │             │
//!    │ refused          │ value                 │ value       │ value
//!    ▼                  ▼                       ▼             ▼
//!  Refused ──▶ Ended  Ended                   Ended         Ended
//!
//!              Running ──stop seen──▶ Tidying (with `cleanup`) ──end of cleanup──▶ Ended
//! ```
//!
//! The body is always polled first, then cause and clock are tested: a value that is ready is a value. The clock is
//! read instead of trusting a timer: a busy thread fires no timers. When the scope must stop, the body is dropped
//! before any fallback or handler runs, because a body that is kept alive may hold the very lock the handler wants.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::driver::Driver;
use super::operation::Operation;
use super::outcome;
use crate::context::Mode;
use crate::context::current::{self, Entered, Frame, Inherited, Poller, Seen, first_cancel};
use crate::context::node::{Limits, Node, Seed};
use crate::stop::{Brief, Cause, Details, Limit, PathEntry, Phase as StopPhase, Stopped};
use crate::time::Deadline;

/// The least that must be left before work is begun: timers have this resolution.
const SHORTEST: Duration = Duration::from_millis(1);

pin_project! {
    /// A body and its state; `Output` is the body's value or the stop.
    pub(crate) struct Life<F> {
        #[pin]
        body: Option<F>,
        state: State,
    }

    impl<F> PinnedDrop for Life<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.body.is_none() {
                return;
            }
            if this.state.was_polled() {
                // Destructors see the context, and log inside it.
                let running = this.state.run(Poller::none());
                this.body.set(None);
                let frame = running.leave();
                this.state.dropped_from_outside(frame.as_ref());
            } else {
                this.body.set(None);
                this.state.dropped_before_its_start();
            }
        }
    }
}

/// Everything about a scope that does not depend on its body's type.
pub(crate) struct State {
    /// Before admission what was captured at the call, afterwards what holds.
    pub(super) node: Option<Arc<Node>>,
    /// Before admission the inherited limit (or, with `fixed`, the scope's own), afterwards the hard end.
    pub(super) hard: Option<Deadline>,
    pub(super) started: Option<Deadline>,
    /// `None` for a scope made by hand: the node describes it.
    pub(super) operation: Option<&'static Operation>,
    pub(super) owner: Option<&'static Operation>,
    driver: Option<Pin<Box<Driver>>>,
    depth: u16,
    phase: Phase,
    cause: Option<Cause>,
    pub(super) flags: Flags,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Not polled yet.
    Created,
    /// Refused, but the refusal is held back for one turn of the scheduler.
    Refused,
    Running,
    /// The body has been polled with the stop visible.
    Delivering,
    /// And has been given one task-hop.
    Yielded,
    /// Stopped, and polled on until the end of its cleanup.
    Tidying,
    Ended,
}

/// What kind of scope it is.
#[derive(Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent switches, each read at one place"
)]
pub(crate) struct Flags {
    /// The limit was fixed before the first poll.
    pub(crate) fixed: bool,
    /// The context is an explicit one: it binds beside the polling one.
    pub(crate) explicit: bool,
    /// The context replaces the polling one, which then neither limits nor cancels.
    pub(crate) replaces: bool,
    /// An ancestor's stop waits for this scope's own bound.
    pub(crate) shield: bool,
    /// The scope's own budget is the binding limit.
    pub(crate) binds: bool,
    pub(super) owns_node: bool,
    /// A guard has handed the stop to the body.
    pub(super) delivered: bool,
    /// A scope around it with another waker has been told that something in here holds.
    pub(super) told: bool,
    pub(super) unenforced: Unenforced,
    /// Refused because a deadline was required and none was in scope.
    pub(super) no_deadline: bool,
    /// Something inside was ended by exactly this scope's limit.
    pub(super) own_limit_hit: bool,
    /// Whoever runs this scope reports its stop itself, because it knows more about the request.
    pub(super) quiet: bool,
    /// Runs something under the context of a scope that is written down itself.
    pub(super) again: bool,
}

/// What would have come of a scope that nothing was enforced on.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Unenforced {
    #[default]
    Nothing,
    /// It was pending at least once: at its end it would have been stopped.
    Waited,
    /// It began after its end.
    BeganLate,
    /// It began with less than it needs.
    WouldRefuse,
}

/// What a pending body leads to.
enum Next {
    /// Nothing to do until somebody wakes the task.
    Wait,
    /// Poll the body once more, now.
    Again,
    End(Stopped),
}

impl<F: Future> Life<F> {
    #[inline(always)]
    pub(crate) fn new(state: State, body: F) -> Self {
        Self {
            body: Some(body),
            state,
        }
    }

    pub(crate) fn poll(
        self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<F::Output, Stopped>> {
        let mut this = self.project();
        if matches!(this.state.phase, Phase::Created | Phase::Refused) {
            match this.state.start(cx.waker()) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(stopped)) => {
                    this.body.set(None);
                    return Poll::Ready(Err(stopped));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        loop {
            let Some(body) = this.body.as_mut().as_pin_mut() else {
                // Polled after its end: nothing will ever come.
                return Poll::Pending;
            };
            let running = this.state.run(Poller::new(cx.waker()));
            let polled = body.poll(cx);
            let frame = running.leave();
            if let Poll::Ready(value) = polled {
                this.body.set(None);
                this.state.completed(frame.as_ref());
                return Poll::Ready(Ok(value));
            }
            let Some(mut frame) = frame else {
                return Poll::Pending;
            };
            match this.state.pending(&mut frame, cx) {
                Next::Wait => return Poll::Pending,
                Next::Again => {}
                Next::End(stopped) => {
                    let running = this.state.run(Poller::none());
                    this.body.set(None);
                    drop(running);
                    return Poll::Ready(Err(stopped));
                }
            }
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    #[cfg(feature = "http")]
    pub(super) fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

/// A scope's frame, in place. However the poll ends, by a panic too, the scope has its node back.
struct Running<'a> {
    state: &'a mut State,
    entered: Option<Entered>,
}

impl Running<'_> {
    fn leave(mut self) -> Option<Frame> {
        self.take()
    }

    fn take(&mut self) -> Option<Frame> {
        let mut frame = self.entered.take()?.leave()?;
        self.state.node = frame.node.take();
        self.state.flags.owns_node = frame.owns_node;
        self.state.flags.delivered = frame.delivered;
        Some(frame)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.take();
    }
}

impl State {
    /// A scope that captures the ambient context at the call.
    #[inline]
    pub(crate) fn ambient(operation: &'static Operation) -> Self {
        Self::under(Some(operation), current::inherit())
    }

    pub(crate) fn under(operation: Option<&'static Operation>, parent: Option<Inherited>) -> Self {
        let (node, hard, owner, depth) = match parent {
            Some(Inherited {
                node,
                soft,
                owner,
                depth,
            }) => (Some(node), soft, owner, depth),
            None => (None, None, None, 0_u16),
        };
        Self {
            node,
            hard,
            started: None,
            operation,
            owner,
            driver: None,
            depth,
            phase: Phase::Created,
            cause: None,
            flags: Flags::default(),
        }
    }

    pub(super) fn description(&self) -> &Operation {
        match (self.operation, &self.node) {
            (Some(operation), _) => operation,
            (None, Some(node)) => &node.operation,
            (None, None) => &Operation::UNNAMED,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.node.as_ref().map_or(Mode::Enforce, |node| node.mode)
    }

    /// The limit that binds.
    pub(super) fn limit(&self) -> Limit {
        match (self.owner, &self.node) {
            (Some(owner), _) => owner.limit(),
            (None, Some(node)) => node.limit,
            (None, None) => self.description().limit(),
        }
    }

    /// What passing that limit is called.
    pub(super) fn limit_cause(&self) -> Cause {
        if self.flags.binds {
            Cause::DependencyTimeout
        } else {
            Cause::DeadlineExceeded
        }
    }

    /// The stop of this scope as it would be reported.
    pub(super) fn would_be(&self) -> Brief {
        let cancelled = self.node.as_ref().and_then(|node| node.signal.get());
        let cause = match (cancelled, self.limits().soft) {
            (Some((cause, at)), soft) if soft.is_none_or(|soft| at < soft) => cause,
            _ => self.limit_cause(),
        };
        let started = self.started.or_else(Deadline::now_if_any);
        let since = |at: Deadline| started.map_or(Duration::ZERO, |started| at.since(started));
        Brief {
            cause,
            phase: StopPhase::Wait,
            operation: self.description().name,
            limit: self.limit(),
            deadline: self.hard,
            budget: self.hard.map(since),
            elapsed: Deadline::now_if_any().map(since).unwrap_or_default(),
        }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits::of(self.hard, self.description().budget.kept())
    }

    /// If something inside was ended by exactly this scope's limit: that stop, as this scope would have reported it.
    pub(super) fn own_limit_hit(&self) -> Option<Stopped> {
        self.flags.own_limit_hit.then(|| {
            self.stopped(
                Cause::DependencyTimeout,
                StopPhase::Wait,
                Deadline::now(),
                self.description().location,
            )
        })
    }

    pub(super) fn at_depth(&mut self, depth: u16) {
        self.depth = depth;
    }

    pub(super) fn depth(&self) -> u16 {
        self.depth
    }

    fn was_polled(&self) -> bool {
        !matches!(self.phase, Phase::Created | Phase::Refused | Phase::Ended)
    }

    /// Puts the scope's frame in place. The node moves into it and comes back with it.
    fn run(&mut self, poller: Poller) -> Running<'_> {
        let also = self.meet();
        let frame = Frame {
            also,
            limits: self.limits(),
            operation: self.operation,
            owner: self.owner,
            binds: self.flags.binds,
            owns_node: self.flags.owns_node,
            depth: self.depth,
            started: self.started,
            mode: self.mode(),
            poller,
            stop: self.cause,
            delivered: self.flags.delivered,
            base: 0,
            seen: Seen::default(),
            node: self.node.take(),
        };
        Running {
            state: self,
            entered: Some(current::enter(frame)),
        }
    }

    /// Looks at the context that polls: its node becomes the scope's own if both are of one request; if not, it is
    /// returned, because then both bind.
    fn meet(&mut self) -> Option<Arc<Node>> {
        if self.flags.replaces {
            return None;
        }
        let fixed = self.flags.explicit || self.flags.owns_node;
        let own = &mut self.node;
        current::with(|outer| {
            if outer.is_none() {
                return None;
            }
            let polling = outer.node();
            let beside = match own {
                Some(own) if Arc::ptr_eq(own, polling) => false,
                Some(own) if !fixed && own.same_request(polling) => {
                    own.clone_from(polling);
                    false
                }
                Some(own) => !own.is_within(polling),
                None => true,
            };
            // Three requests: of the two around this one, the one that is over.
            let over = |also: &Arc<Node>| also.signal.get().is_some();
            match &outer.also {
                Some(also) if !beside || over(also) => Some(also.clone()),
                _ => beside.then(|| outer.node().clone()),
            }
        })
        .flatten()
    }

    /// Created → Running, or → Ended by a refusal. The second refusal within one poll of the outer scope waits one
    /// turn (Refused), so that a loop which swallows refusals cannot hold the thread.
    fn start(&mut self, waker: &Waker) -> Poll<Result<(), Stopped>> {
        if self.phase == Phase::Created {
            match self.admit() {
                Ok(()) => {
                    self.phase = Phase::Running;
                    return Poll::Ready(Ok(()));
                }
                Err(cause) => self.cause = Some(cause),
            }
            let earlier = current::with(|outer| {
                outer.seen.refusals += 1;
                outer.seen.refusals > 1
            });
            if earlier == Some(true) {
                self.phase = Phase::Refused;
                waker.wake_by_ref();
                return Poll::Pending;
            }
        }
        let cause = self.cause.unwrap_or(Cause::DeadlineExceeded);
        let location = self.description().location;
        let stopped = self.stopped(cause, StopPhase::Start, Deadline::now(), location);
        self.report_limit_hit(cause);
        self.end(outcome::Ended::Stopped(&stopped));
        Poll::Ready(Err(stopped))
    }

    /// Finds out what holds for this run, and whether it may begin.
    ///
    /// One request: the polling context decides, so that a future which was created in a narrow scope and is awaited
    /// in a wide one gets the wide limit. Two requests, or an explicit context: both bind.
    fn admit(&mut self) -> Result<(), Cause> {
        let fixed = if self.flags.fixed {
            self.hard.take()
        } else {
            None
        };
        let mut foreign = None;
        if !self.flags.replaces
            && let Some(polling) = current::inherit()
        {
            foreign = self.meet_first(polling);
        }
        let operation = *self.description();
        let mode = self.mode();
        if mode == Mode::Off {
            self.hard = None;
            self.owner = None;
            return Ok(());
        }
        let now = Deadline::now();
        let started = *self.started.get_or_insert(now);
        let inherited = self.hard;
        let granted = operation
            .budget
            .granted(inherited.map(|soft| soft.since(started)));
        let own = if self.flags.fixed {
            fixed
        } else {
            granted.map(|granted| started.plus(granted))
        };
        match own {
            Some(own) if inherited.is_none_or(|inherited| own < inherited) => {
                self.hard = Some(own);
                // The budget of the outermost scope is the request's deadline, not a dependency's.
                self.flags.binds = match (self.operation, &self.node) {
                    (None, Some(node)) => node.own,
                    (_, node) => node.is_some(),
                };
                self.owner = self.operation;
            }
            _ => {
                self.flags.binds = false;
                if let Some((limit, node)) = foreign.zip(self.node.as_ref()) {
                    self.node = Some(Node::child(node, self.seed(limit, started)));
                    self.flags.owns_node = true;
                }
            }
        }
        if self.hard.is_none() {
            outcome::unbounded(&operation, self.node.as_ref());
        }
        match self.refusal(now, inherited, granted) {
            Some(cause) if !mode.enforces() => {
                self.flags.unenforced = match cause {
                    Cause::LocalBudgetRejected => Unenforced::WouldRefuse,
                    _ => Unenforced::BeganLate,
                };
                Ok(())
            }
            Some(cause) => Err(cause),
            None => Ok(()),
        }
    }

    /// Why it may not begin.
    fn refusal(
        &mut self,
        now: Deadline,
        inherited: Option<Deadline>,
        granted: Option<Duration>,
    ) -> Option<Cause> {
        if self.description().parent_required && inherited.is_none() {
            self.flags.no_deadline = true;
            return Some(Cause::LocalBudgetRejected);
        }
        let polling = self.meet();
        if let Some((cause, at)) = first_cancel(self.node.as_ref(), polling.as_ref()) {
            let expired = inherited.is_some_and(|soft| soft <= at);
            return Some(if expired {
                Cause::DeadlineExceeded
            } else {
                cause
            });
        }
        if self.hard.is_some_and(|hard| hard <= now) {
            return Some(self.limit_cause());
        }
        // A shield asks for its whole bound, from where it was entered.
        let from = if self.flags.shield {
            self.started.unwrap_or(now)
        } else {
            now
        };
        let least = self.least(granted);
        self.limits()
            .soft
            .is_some_and(|soft| soft.since(from) < least)
            .then_some(Cause::LocalBudgetRejected)
    }

    /// A node of this scope's own, whose limit is that of a request around it.
    fn seed(&self, limit: Limit, started: Deadline) -> Seed {
        Seed {
            operation: *self.description(),
            limits: self.limits(),
            limit,
            own: false,
            started,
            mode: self.mode(),
            depth: self.depth,
            of_scope: true,
        }
    }

    /// The least that must be left for work.
    fn least(&self, granted: Option<Duration>) -> Duration {
        let budget = &self.description().budget;
        let least = if self.flags.shield {
            budget.granted(None).unwrap_or_default()
        } else {
            budget.least(granted)
        };
        least.max(SHORTEST)
    }

    /// The context that polls first; returned is its limit, if that binds and has no owner but its node.
    fn meet_first(&mut self, polling: Inherited) -> Option<Limit> {
        let same = self
            .node
            .as_ref()
            .is_none_or(|captured| captured.same_request(&polling.node));
        if same {
            self.depth = polling.depth;
        }
        if same && !self.flags.explicit {
            self.node = Some(polling.node);
            self.hard = polling.soft;
            self.owner = polling.owner;
            return None;
        }
        let earlier = polling
            .soft
            .is_some_and(|soft| self.hard.is_none_or(|hard| soft < hard));
        if !earlier {
            return None;
        }
        self.hard = polling.soft;
        self.owner = polling.owner;
        match polling.owner {
            Some(_) => None,
            None => Some(polling.node.limit),
        }
    }

    /// The body is pending: go on waiting, or move towards the end.
    #[inline(never)]
    fn pending(&mut self, frame: &mut Frame, cx: &mut task::Context<'_>) -> Next {
        self.note_limit_hit(frame);
        self.note_holders(frame);
        if !self.mode().enforces() {
            if self.flags.unenforced == Unenforced::Nothing {
                self.flags.unenforced = Unenforced::Waited;
            }
            return self.wait(frame, None, cx);
        }
        let now = *frame.seen.now.get_or_insert_with(Deadline::now);
        match self.phase {
            Phase::Created | Phase::Refused | Phase::Ended => Next::Wait,
            // Running → Delivering or Tidying when there is a stop.
            Phase::Running => {
                let Some(cause) = self.stop_test(frame, now) else {
                    return self.wait(frame, self.work_end(), cx);
                };
                // Recorded before anybody is shown it.
                self.cause = Some(cause);
                let budget = self.description().budget;
                self.phase = if budget.cleanup.is_zero() {
                    Phase::Delivering
                } else {
                    let until = now.plus(budget.kept());
                    let until = self.hard.map_or(until, |hard| hard.min(until));
                    self.driver().tidy_until(until);
                    Phase::Tidying
                };
                // A guard may have read the clock before and shown the stop to the body.
                if frame.seen.yielding || self.flags.delivered {
                    self.come_again(frame, cx)
                } else {
                    Next::Again
                }
            }
            // Delivering → Yielded: one turn of the scheduler, for a value that is one task-hop away. Something
            // inside that has just done the same comes first.
            Phase::Delivering => {
                if !frame.seen.yielding {
                    self.phase = Phase::Yielded;
                    frame.seen.yielding = true;
                }
                self.come_again(frame, cx)
            }
            // Yielded → Ended, unless something inside still holds.
            Phase::Yielded => {
                if frame.seen.yielding {
                    return self.come_again(frame, cx);
                }
                match frame.seen.hold {
                    Some(hold) if hold > now => self.wait(frame, Some(hold), cx),
                    _ => self.stop(frame, now),
                }
            }
            // Tidying → Ended at the end of the cleanup.
            Phase::Tidying => match self.driver().tidies_until() {
                Some(until) if now < until => {
                    frame.seen.hold = frame.seen.hold.max(Some(until));
                    self.wait(frame, Some(until), cx)
                }
                _ => self.stop(frame, now),
            },
        }
    }

    /// One turn of the scheduler. Whoever yields inside has woken its own waker, which need not be this one.
    fn come_again(&mut self, frame: &mut Frame, cx: &mut task::Context<'_>) -> Next {
        cx.waker().wake_by_ref();
        self.wait(frame, None, cx)
    }

    fn driver(&mut self) -> Pin<&mut Driver> {
        self.driver
            .get_or_insert_with(|| Box::pin(Driver::default()))
            .as_mut()
    }

    /// Where the body itself ends: with a reserve a little after its children, whose errors it may still turn into
    /// an answer. When both ended at the same instant a child in another task would race its parent.
    pub(super) fn work_end(&self) -> Option<Deadline> {
        let budget = self.description().budget;
        let slack = if budget.cleanup.is_zero() {
            Duration::from_millis(5).min(budget.reserve / 4)
        } else {
            Duration::ZERO
        };
        self.limits().soft.map(|soft| soft.plus(slack))
    }

    /// Why the scope has to stop by `now`, if it has to. The order of events decides: a cancel after the end of work
    /// comes too late to be the cause.
    fn stop_test(&self, frame: &Frame, now: Deadline) -> Option<Cause> {
        if let Some((cause, at)) = first_cancel(self.node.as_ref(), frame.also.as_ref()) {
            let expired = self.limits().soft.is_some_and(|soft| soft <= at);
            return Some(if expired { self.limit_cause() } else { cause });
        }
        self.work_end()
            .filter(|end| *end <= now)
            .map(|_| self.limit_cause())
    }

    /// Yielded or Tidying → Ended: the caller drops the body.
    fn stop(&mut self, frame: &Frame, now: Deadline) -> Next {
        let cause = self.cause.unwrap_or_else(|| self.limit_cause());
        let location = frame.seen.at.unwrap_or(self.description().location);
        let stopped = self.stopped(cause, StopPhase::Wait, now, location);
        self.report_limit_hit(cause);
        self.end(outcome::Ended::Stopped(&stopped));
        Next::End(stopped)
    }

    /// Whose limit ended something inside: this scope's own, or one further out, which is then told.
    fn note_limit_hit(&mut self, frame: &Frame) {
        let hit = frame.seen.limit_hit;
        if hit.is_none() {
            return;
        }
        if self.flags.binds && hit == self.limits().soft {
            self.flags.own_limit_hit = true;
        } else {
            current::with(|outer| outer.note_limit_hit(hit));
        }
    }

    fn report_limit_hit(&self, cause: Cause) {
        if matches!(cause, Cause::DeadlineExceeded | Cause::LocalBudgetRejected)
            && !self.flags.binds
        {
            current::with(|outer| outer.note_limit_hit(self.hard));
        }
    }

    /// What holds inside, whether it was polled just now or not.
    fn note_holders(&mut self, frame: &mut Frame) {
        let (change, held) = (frame.seen.holders, frame.seen.held);
        if change != 0 || held.is_some() {
            self.driver().note_holders(change, held);
        }
        if let Some(driver) = &self.driver {
            frame.seen.hold = frame.seen.hold.max(driver.held());
        }
    }

    /// Sees to it that the task is woken at `own` at the latest and by a cancel, and tells the outer scope what it
    /// needs to know.
    fn wait(&mut self, frame: &Frame, own: Option<Deadline>, cx: &mut task::Context<'_>) -> Next {
        let seen = &frame.seen;
        let wake_at = Deadline::earlier(own, seen.wake_at);
        let shielded = if self.flags.shield { self.hard } else { None };
        let hold = seen.hold.max(shielded);
        let (told, tells) = (self.flags.told, hold.is_some());
        let linked = current::with(|outer| {
            outer.seen.yielding |= seen.yielding;
            outer.seen.now = seen.now.or(outer.seen.now);
            outer.seen.at = outer.seen.at.or(seen.at);
            let timed = outer.poller == frame.poller;
            if timed {
                outer.seen.wake_at = Deadline::earlier(outer.seen.wake_at, wake_at);
                outer.seen.hold = outer.seen.hold.max(hold);
            } else {
                outer.seen.held = outer.seen.held.max(hold);
            }
            outer.seen.holders += i32::from(tells && !timed) - i32::from(told);
            let same_node = match (&outer.node, &self.node) {
                (Some(outer), Some(own)) => Arc::ptr_eq(outer, own),
                (None, None) => true,
                _ => false,
            };
            (timed, timed && same_node)
        });
        self.flags.told = tells && matches!(linked, Some((false, _)));
        let (timed, woken) = linked.unwrap_or((false, false));
        let alarm = if timed { None } else { wake_at };
        let (mut node, mut also) = (None, None);
        if !woken && self.mode().enforces() {
            node.clone_from(&self.node);
            also.clone_from(&frame.also);
        }
        if alarm.is_some() || node.is_some() || also.is_some() || self.driver.is_some() {
            let noticed = self.cause.is_some();
            self.driver().wait(alarm, node, also, noticed, cx);
        }
        Next::Wait
    }

    pub(super) fn stopped(
        &self,
        cause: Cause,
        phase: StopPhase,
        now: Deadline,
        location: &'static Location<'static>,
    ) -> Stopped {
        let operation = self.description();
        let limit = self.limit();
        let started = self.started.unwrap_or(now);
        let refused = phase == StopPhase::Start && cause == Cause::LocalBudgetRejected;
        let needed = (refused && !self.flags.no_deadline).then(|| {
            let has = self.hard.map_or(Duration::ZERO, |hard| hard.since(now));
            (self.needs(), has)
        });
        let mut path = current::path();
        path.push(PathEntry {
            operation: operation.name,
            hard: self.hard,
        });
        Stopped::new(Details {
            cause,
            phase,
            operation: operation.name,
            limit,
            deadline: self.hard,
            budget: self.hard.map(|hard| hard.since(started)),
            elapsed: now.since(started),
            needed,
            no_deadline: self.flags.no_deadline,
            location,
            path,
            source: None,
        })
    }

    /// What had to be left before the hard end for the scope to begin.
    pub(super) fn needs(&self) -> Duration {
        let budget = self.description().budget;
        // A share of what was left is what lies between start and end.
        let granted = budget
            .granted(None)
            .or_else(|| Some(self.hard?.since(self.started?)));
        self.least(granted).saturating_add(budget.kept())
    }

    fn completed(&mut self, frame: Option<&Frame>) {
        if let Some(frame) = frame {
            self.note_limit_hit(frame);
        }
        self.end(outcome::Ended::Value);
    }

    /// The body was dropped by somebody else: what was known to be the cause is the cause, else `abandoned`.
    fn dropped_from_outside(&mut self, frame: Option<&Frame>) {
        let known = self.cause.or_else(|| {
            if self.mode().enforces() {
                let now = Deadline::now_if_any();
                frame
                    .zip(now)
                    .and_then(|(frame, now)| self.stop_test(frame, now))
            } else {
                let also = frame.and_then(|frame| frame.also.as_ref());
                first_cancel(self.node.as_ref(), also).map(|(cause, _)| cause)
            }
        });
        // Dropped with the body of a scope that is stopped. Its own budget is that of an ancestor here.
        let cause = known.or_else(|| match current::with(|outer| outer.stop).flatten() {
            Some(Cause::DependencyTimeout) => Some(Cause::DeadlineExceeded),
            stop => stop,
        });
        self.end(outcome::Ended::Dropped(cause.unwrap_or(Cause::Abandoned)));
    }

    /// A refusal that was held back for one turn is a refusal all the same.
    fn dropped_before_its_start(&mut self) {
        if let (Phase::Refused, Some(cause)) = (self.phase, self.cause) {
            self.end(outcome::Ended::Dropped(cause));
        }
    }

    fn end(&mut self, how: outcome::Ended<'_>) {
        self.phase = Phase::Ended;
        outcome::record(self, how);
        if self.flags.told {
            self.flags.told = false;
            current::with(|outer| outer.seen.holders -= 1);
        }
        if let Some(driver) = self.driver.as_mut() {
            driver.as_mut().release();
        }
    }
}
