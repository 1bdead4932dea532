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
use crate::context::current::{self, Frame, Inherited, Poller, Seen};
use crate::context::node::{Limits, Node};
use crate::stop::{Cause, Details, PathEntry, Phase as StopPhase, Stopped};
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
            if this.body.is_some() && this.state.was_polled() {
                // Destructors see the context, and log inside it.
                let entered = current::enter(this.state.frame(Poller::none()));
                this.body.set(None);
                if let Some(frame) = entered.leave() {
                    this.state.node = frame.node;
                }
                this.state.dropped_from_outside();
            }
        }
    }
}

/// Everything about a scope that does not depend on its body's type.
pub(crate) struct State {
    /// Before admission what was captured at the call, afterwards what holds.
    pub(super) node: Option<Arc<Node>>,
    /// Before admission the inherited limit (or, with `FIXED`, the scope's own), afterwards the hard end.
    pub(super) hard: Option<Deadline>,
    pub(super) started: Option<Deadline>,
    /// `None` for a scope made by hand: the node describes it.
    pub(super) operation: Option<&'static Operation>,
    pub(super) owner: Option<&'static Operation>,
    driver: Option<Pin<Box<Driver>>>,
    depth: usize,
    phase: Phase,
    cause: Option<Cause>,
    /// How often guards have handed the stop to the body.
    deliveries: u32,
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
    Tidying {
        until: Deadline,
    },
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
    /// Refused because a deadline was required and none was in scope.
    pub(super) no_deadline: bool,
    /// Something inside was ended by exactly this scope's limit.
    pub(super) own_limit_hit: bool,
    /// Whoever runs this scope reports its stop itself, because it knows more about the request.
    pub(super) quiet: bool,
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
            let entered = current::enter(this.state.frame(Poller::new(cx.waker())));
            let polled = body.poll(cx);
            let frame = entered.leave();
            if let Poll::Ready(value) = polled {
                this.body.set(None);
                this.state.completed(frame);
                return Poll::Ready(Ok(value));
            }
            let Some(frame) = frame else {
                return Poll::Pending;
            };
            match this.state.pending(frame, cx) {
                Next::Wait => return Poll::Pending,
                Next::Again => {}
                Next::End(stopped) => {
                    let entered = current::enter(this.state.frame(Poller::new(cx.waker())));
                    this.body.set(None);
                    drop(entered);
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
            None => (None, None, None, 0),
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
            deliveries: 0,
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

    pub(super) fn depth_of(&mut self, context: &Inherited) {
        self.depth = context.depth;
    }

    fn was_polled(&self) -> bool {
        !matches!(self.phase, Phase::Created | Phase::Refused | Phase::Ended)
    }

    /// The frame for one poll. The node moves into it and comes back with it.
    fn frame(&mut self, poller: Poller) -> Frame {
        Frame {
            also: self.other_request(),
            limits: self.limits(),
            owner: self.owner,
            operation: self.operation,
            binds: self.flags.binds,
            owns_node: self.flags.owns_node,
            depth: self.depth,
            started: self.started.unwrap_or_else(Deadline::now),
            mode: self.mode(),
            poller,
            stop: self.cause,
            deliveries: self.deliveries,
            seen: Seen::default(),
            node: self.node.take(),
        }
    }

    /// The polling context's node, if it belongs to another request: it then binds as well.
    fn other_request(&self) -> Option<Arc<Node>> {
        if self.flags.replaces {
            return None;
        }
        current::with(|outer| match (&self.node, &outer.node) {
            (Some(own), Some(polling))
                if !Arc::ptr_eq(own, polling) && !own.same_request(polling) =>
            {
                Some(polling.clone())
            }
            _ => outer.also.clone(),
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
        let own = self.flags.fixed.then_some(self.hard).flatten();
        if self.flags.fixed {
            self.hard = None;
        }
        if !self.flags.replaces {
            if let Some(polling) = current::inherit() {
                self.poll_in(polling);
            }
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
        let own = own.or_else(|| {
            if self.flags.fixed {
                None
            } else {
                granted.map(|granted| started.plus(granted))
            }
        });
        match (own, inherited) {
            (Some(own), inherited) if inherited.is_none_or(|inherited| own < inherited) => {
                self.hard = Some(own);
                // The budget of the outermost scope is the request's deadline, not a dependency's.
                let nested = self.node.is_some();
                self.flags.binds = match (self.operation, &self.node) {
                    (None, Some(node)) => node.own,
                    _ => nested,
                };
                self.owner = self.operation;
            }
            _ => self.flags.binds = false,
        }
        if self.hard.is_none() {
            outcome::unbounded(&operation, self.node.as_ref());
        }
        if !mode.enforces() {
            return Ok(());
        }
        if operation.parent_required && inherited.is_none() {
            self.flags.no_deadline = true;
            return Err(Cause::LocalBudgetRejected);
        }
        let cancelled = self.node.as_ref().and_then(|node| node.signal.get());
        let expired = self.hard.is_some_and(|hard| hard <= now);
        match cancelled {
            Some((_, at)) if inherited.is_some_and(|hard| hard <= at) => {
                return Err(Cause::DeadlineExceeded);
            }
            Some((cause, _)) => return Err(cause),
            None if expired && self.flags.binds => return Err(Cause::DependencyTimeout),
            None if expired => return Err(Cause::DeadlineExceeded),
            None => {}
        }
        // A shield asks for its whole bound, from where it was entered.
        let from = if self.flags.shield { started } else { now };
        if self
            .limits()
            .soft
            .is_some_and(|soft| soft.since(from) < self.least(granted))
        {
            return Err(Cause::LocalBudgetRejected);
        }
        Ok(())
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

    fn poll_in(&mut self, polling: Inherited) {
        let same = self
            .node
            .as_ref()
            .is_none_or(|captured| captured.same_request(&polling.node));
        if same && !self.flags.explicit {
            self.node = Some(polling.node);
            self.hard = polling.soft;
            self.owner = polling.owner;
        } else if polling
            .soft
            .is_some_and(|soft| self.hard.is_none_or(|hard| soft < hard))
        {
            self.hard = polling.soft;
            // An explicit owner survives; a node's limit is not this node's.
            self.owner = polling.owner.or(self.owner);
        }
        self.depth = polling.depth;
    }

    /// The body is pending: go on waiting, or move towards the end.
    #[inline(never)]
    fn pending(&mut self, mut frame: Frame, cx: &mut task::Context<'_>) -> Next {
        self.node.clone_from(&frame.node);
        self.flags.owns_node = frame.owns_node;
        self.deliveries = frame.deliveries;
        self.note_limit_hit(&frame);
        let mode = self.mode();
        if !mode.enforces() {
            return self.wait(&frame, None, cx);
        }
        let now = match frame.seen.now {
            Some(now) => now,
            None => *frame.seen.now.insert(Deadline::now()),
        };
        match self.phase {
            Phase::Created | Phase::Refused | Phase::Ended => Next::Wait,
            // Running → Delivering or Tidying when there is a stop.
            Phase::Running => {
                let Some(cause) = self.stop_test(&frame, now) else {
                    return self.wait(&frame, self.work_end(), cx);
                };
                // Recorded before anybody is shown it.
                self.cause = Some(cause);
                let cleanup = self.description().budget.cleanup;
                self.phase = if cleanup.is_zero() {
                    Phase::Delivering
                } else {
                    let until = now.plus(cleanup.saturating_add(self.description().budget.reserve));
                    Phase::Tidying {
                        until: self.hard.map_or(until, |hard| hard.min(until)),
                    }
                };
                if frame.seen.yielding {
                    self.wait(&frame, None, cx)
                } else {
                    Next::Again
                }
            }
            // Delivering → Yielded: one turn of the scheduler, for a value that is one task-hop away.
            Phase::Delivering => {
                if !frame.seen.yielding {
                    self.phase = Phase::Yielded;
                    frame.seen.yielding = true;
                    cx.waker().wake_by_ref();
                }
                self.wait(&frame, None, cx)
            }
            // Yielded → Ended, unless something inside still holds.
            Phase::Yielded => {
                if frame.seen.yielding {
                    return self.wait(&frame, None, cx);
                }
                match frame.seen.hold {
                    Some(hold) if hold > now => self.wait(&frame, Some(hold), cx),
                    _ => self.stop(&frame, now),
                }
            }
            // Tidying → Ended at the end of the cleanup.
            Phase::Tidying { until } => {
                if now < until {
                    frame.seen.hold = Some(frame.seen.hold.map_or(until, |hold| hold.max(until)));
                    self.wait(&frame, Some(until), cx)
                } else {
                    self.stop(&frame, now)
                }
            }
        }
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

    fn stop_test(&self, frame: &Frame, now: Deadline) -> Option<Cause> {
        if frame.cancelled().is_some() {
            return frame.stopped(|| now);
        }
        self.work_end()
            .filter(|end| *end <= now)
            .map(|_| frame.limit_cause())
    }

    /// Yielded or Tidying → Ended: the caller drops the body.
    fn stop(&mut self, frame: &Frame, now: Deadline) -> Next {
        let cause = self.cause.unwrap_or_else(|| frame.limit_cause());
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
            current::with(|outer| outer.seen.limit_hit = hit);
        }
    }

    fn report_limit_hit(&self, cause: Cause) {
        if matches!(cause, Cause::DeadlineExceeded | Cause::LocalBudgetRejected)
            && !self.flags.binds
        {
            current::with(|outer| outer.seen.limit_hit = self.hard);
        }
    }

    /// Sees to it that the task is woken at `own` at the latest and by a cancel, and tells the outer scope what it
    /// needs to know.
    fn wait(&mut self, frame: &Frame, own: Option<Deadline>, cx: &mut task::Context<'_>) -> Next {
        let seen = &frame.seen;
        let wake_at = Deadline::earlier(own, seen.wake_at);
        let hold = if self.flags.shield { self.hard } else { None };
        let poller = frame.poller;
        let linked = current::with(|outer| {
            outer.seen.hold = outer.seen.hold.max(seen.hold).max(hold);
            outer.seen.yielding |= seen.yielding;
            outer.seen.now = seen.now.or(outer.seen.now);
            outer.seen.at = outer.seen.at.or(seen.at);
            let timed = outer.poller == poller;
            if timed {
                outer.seen.wake_at = Deadline::earlier(outer.seen.wake_at, wake_at);
            }
            let same_node = match (&outer.node, &self.node) {
                (Some(outer), Some(own)) => Arc::ptr_eq(outer, own),
                (None, None) => true,
                _ => false,
            };
            (timed, timed && same_node)
        });
        let (timed, woken) = linked.unwrap_or((false, false));
        let alarm = if timed { None } else { wake_at };
        let node = if woken { None } else { self.node.clone() };
        if alarm.is_some() || node.is_some() || self.driver.is_some() {
            let driver = self
                .driver
                .get_or_insert_with(|| Box::pin(Driver::default()));
            driver.as_mut().wait(alarm, node, cx);
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
        let limit = match (self.owner, &self.node) {
            (Some(owner), _) => owner.limit(),
            (None, Some(node)) => node.limit,
            (None, None) => operation.limit(),
        };
        let started = self.started.unwrap_or(now);
        let refused = phase == StopPhase::Start && cause == Cause::LocalBudgetRejected;
        let needed = (refused && !self.flags.no_deadline).then(|| {
            let granted = self.hard.map(|hard| hard.since(started));
            let needs = self.least(granted).saturating_add(operation.budget.kept());
            (
                needs,
                self.hard.map_or(Duration::ZERO, |hard| hard.since(now)),
            )
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

    fn completed(&mut self, frame: Option<Frame>) {
        if let Some(frame) = frame {
            self.note_limit_hit(&frame);
            self.node = frame.node;
        }
        self.end(outcome::Ended::Value);
    }

    /// The body was dropped by somebody else: what was known to be the cause is the cause, else `abandoned`.
    fn dropped_from_outside(&mut self) {
        let known = self.cause.or_else(|| {
            self.node
                .as_ref()
                .and_then(|node| node.signal.get())
                .map(|(cause, _)| cause)
        });
        let expired = self.hard.is_some_and(|hard| hard <= Deadline::now());
        let cause = known.unwrap_or(match (expired, self.flags.binds) {
            (false, _) => Cause::Abandoned,
            (true, false) => Cause::DeadlineExceeded,
            (true, true) => Cause::DependencyTimeout,
        });
        self.end(outcome::Ended::Dropped(cause));
    }

    fn end(&mut self, how: outcome::Ended<'_>) {
        self.phase = Phase::Ended;
        outcome::record(self, self.depth, how);
        if let Some(driver) = self.driver.as_mut() {
            driver.as_mut().release();
        }
    }
}
