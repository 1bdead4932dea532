//! [`State`]: what a scope is, apart from its body.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use super::driver::Driver;
use super::operation::{Described, Operation};
use crate::context::current::{self, Inherited};
use crate::context::node::{Limits, Node};
use crate::context::{Context, Mode};
use crate::stop::{Brief, Cause, Details, Limit, PathEntry, Phase as StopPhase, Stopped};
use crate::time::Deadline;

/// Everything about a scope that does not depend on its body's type.
pub struct State {
    /// Before admission what was captured at the call, afterwards what holds. In the scope's frame while that is in
    /// place.
    pub(super) node: Option<Arc<Node>>,
    /// Before admission the inherited limit (or, with `Fixed`, the scope's own), afterwards the hard end.
    pub(super) hard: Option<Deadline>,
    pub(super) started: Option<Deadline>,
    /// `None` for a scope made by hand: the node describes it.
    pub(super) operation: Option<&'static Operation>,
    pub(super) owner: Option<&'static Operation>,
    pub(super) driver: Option<Box<Driver>>,
    pub(super) depth: u16,
    pub(super) flags: Flags,
    pub(super) phase: Phase,
    pub(super) cause: Option<Cause>,
    pub(super) unenforced: Unenforced,
    /// How often a guard has handed the stop to the body.
    pub(super) deliveries: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
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
    /// The body is gone; what it has spawned is being joined.
    Leaving,
    Ended,
}

/// What kind of scope it is, and what has become of it.
#[derive(Clone, Copy)]
#[repr(u16)]
pub(crate) enum Flag {
    /// The limit was fixed before the first poll.
    Fixed = 1,
    /// The context is an explicit one: it binds beside the polling one.
    Explicit = 1 << 1,
    /// The context replaces the polling one, which then neither limits nor cancels.
    Replaces = 1 << 2,
    /// An ancestor's stop waits for this scope's own bound.
    Shield = 1 << 3,
    /// The scope's own budget is the binding limit.
    Binds = 1 << 4,
    /// The node was made for this very scope.
    OwnsNode = 1 << 5,
    /// A scope around it with another waker has been told that something in here holds.
    Told = 1 << 6,
    /// Refused because a deadline was required and none was in scope.
    NoDeadline = 1 << 7,
    /// Something inside was ended by exactly this scope's limit.
    OwnLimitHit = 1 << 8,
    /// Whoever runs this scope reports its stop itself, because it knows more about the request.
    Quiet = 1 << 9,
    /// Runs something under the context of a scope that is written down itself.
    Again = 1 << 10,
    /// The program itself asked for this limit: it holds in every mode.
    Always = 1 << 11,
    /// The context is one made by hand: what hangs on it is seen to by whatever runs under it.
    Attends = 1 << 12,
    /// A tracker counts this scope.
    Counted = 1 << 13,
    /// And as a request.
    CountedRequest = 1 << 14,
    /// Runs under the context of the very scope that polls it, whose own budget is the binding limit: it ends for the same
    /// cause.
    Part = 1 << 15,
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flags(u16);

impl Flags {
    #[inline]
    pub(crate) const fn has(self, flag: Flag) -> bool {
        self.0 & flag as u16 != 0
    }

    #[inline]
    pub(crate) const fn set(&mut self, flag: Flag, on: bool) {
        if on {
            self.0 |= flag as u16;
        } else {
            self.0 &= !(flag as u16);
        }
    }

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) const fn any_but(self, these: Self) -> bool {
        self.0 & !these.0 != 0
    }

    #[inline]
    pub(crate) const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    #[inline]
    pub(crate) const fn of<const N: usize>(flags: [Flag; N]) -> Self {
        let mut all = Self(0);
        let mut at = 0;
        while at < N {
            all.set(flags[at], true);
            at += 1;
        }
        all
    }
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

impl State {
    /// A scope that captures the ambient context at the call.
    #[inline(never)]
    pub(crate) fn ambient(operation: &'static Operation) -> Self {
        Self::under(Some(operation), current::inherit())
    }

    /// A scope under an explicit parent.
    #[inline(never)]
    pub(super) fn below(operation: &'static Operation, context: &Context) -> Self {
        let parent = context.inherited();
        let none = parent.is_none();
        let mut state = Self::under(Some(operation), parent);
        state.flags.set(Flag::Explicit, true);
        // `Context::none()` is asked for by work that must not end with whoever happens to poll it.
        state.flags.set(Flag::Replaces, none);
        state
    }

    #[inline]
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
            flags: Flags::default(),
            phase: Phase::Created,
            cause: None,
            unenforced: Unenforced::Nothing,
            deliveries: 0,
        }
    }

    /// Takes the scope out of its future, whose body is about to be dropped.
    #[inline]
    pub(super) fn take(&mut self) -> Self {
        let taken = Self {
            node: self.node.take(),
            driver: self.driver.take(),
            ..*self
        };
        self.phase = Phase::Ended;
        taken
    }

    #[inline]
    pub(super) fn description(&self) -> Described<'_> {
        match (self.operation, &self.node) {
            (Some(operation), _) => operation.described(),
            (None, Some(node)) => node.operation.described(),
            (None, None) => const { Operation::UNNAMED.described() },
        }
    }

    #[inline]
    pub(super) fn mode(&self) -> Mode {
        self.node.as_ref().map_or(Mode::Enforce, |node| node.mode)
    }

    /// The limit that binds.
    pub(super) fn limit(&self) -> Limit {
        if let Some(limit) = self.driver.as_ref().and_then(|driver| driver.limit()) {
            return limit;
        }
        match (self.owner, &self.node) {
            (Some(owner), _) => owner.limit(),
            (None, Some(node)) => node.limit,
            (None, None) => self.description().limit(),
        }
    }

    /// What passing that limit is called.
    pub(super) fn limit_cause(&self) -> Cause {
        if self.flags.has(Flag::Binds) || self.flags.has(Flag::Part) {
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

    #[inline]
    pub(super) fn limits(&self) -> Limits {
        match (self.operation, &self.node) {
            // A context that is entered again has had its reserve taken off; what polls it may still end earlier.
            (None, Some(node)) if node.limits.hard.is_some() => Limits {
                soft: Deadline::earlier(node.limits.soft, self.hard),
                hard: self.hard,
            },
            _ => Limits::of(self.hard, self.description().figures.kept),
        }
    }

    /// If something inside was ended by exactly this scope's limit: that stop, as this scope would have reported it.
    pub(super) fn own_limit_hit(&self) -> Option<Stopped> {
        self.flags.has(Flag::OwnLimitHit).then(|| {
            self.stopped(
                Cause::DependencyTimeout,
                StopPhase::Wait,
                Deadline::now(),
                self.description().location,
            )
        })
    }

    /// Where the body itself ends.
    #[inline]
    pub(super) fn work_end(&self, soft: Option<Deadline>) -> Option<Deadline> {
        let slack = self.description().figures.slack;
        Deadline::earlier(soft.map(|soft| soft.later(slack)), self.hard)
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
        let no_deadline = self.flags.has(Flag::NoDeadline);
        let needed = (refused && !no_deadline).then(|| {
            let has = self.hard.map_or(Duration::ZERO, |hard| hard.since(now));
            (self.needs(), has)
        });
        let mut path = current::path();
        path.push(PathEntry {
            operation: operation.name,
            hard: self.hard,
        });
        let brief = Brief {
            cause,
            phase,
            operation: operation.name,
            limit,
            deadline: self.hard,
            budget: self.hard.map(|hard| hard.since(started)),
            elapsed: now.since(started),
        };
        Stopped::new(Details {
            kept: self.limits().kept(),
            needed,
            no_deadline,
            location,
            path,
            seen: Some(now),
            ..Details::of(brief)
        })
    }
}
