//! Whether a scope may begin, and under which limit.

use std::sync::Arc;
use std::time::Duration;

use super::operation::{Named, Operation};
use super::state::{Flag, Flags, State, Unenforced};
use crate::context::Mode;
use crate::context::current::{Frame, first_cancel};
use crate::context::node::{Limits, Node, Seed};
use crate::stop::{Cause, Limit};
use crate::time::{Deadline, SHORTEST, nanos};

/// What was found out before the first poll.
pub(super) struct Admission {
    /// The polling request's node, when it binds beside the scope's own.
    pub(super) also: Option<Arc<Node>>,
    /// No limit at all holds where one could.
    pub(super) unbounded: bool,
    pub(super) refusal: Option<Cause>,
}

impl State {
    /// Begins where nothing but figures has to be compared: in the task of one request, of which everything is enforced.
    /// `None` where more than that has to be found out, or it may not begin; nothing is changed then.
    #[inline(always)]
    pub(super) fn admit_plainly(&mut self, outer: Option<&mut Frame>) -> Option<Limits> {
        let operation = self.operation?;
        let needs = operation.needs()?;
        if !self.flags.is_empty() {
            return None;
        }
        let (inherited, owner, depth) = match (&self.node, outer) {
            (None, None) => (None, None, 0),
            (Some(own), Some(outer)) if own.plain && outer.is_just(own) && !own.signal.is_set() => {
                (outer.limits.soft, outer.owner, outer.depth)
            }
            _ => return None,
        };
        let now = Deadline::now();
        let own = operation.figures.cap.map(|cap| now.later(cap));
        let (hard, binds) = match (own, inherited) {
            (Some(own), Some(inherited)) if own < inherited => (own, true),
            (_, Some(inherited)) => (inherited, false),
            (Some(own), None) => (own, self.node.is_some()),
            (None, None) => return None,
        };
        if hard.is_within(needs, now) {
            return None;
        }
        self.owner = if inherited == Some(hard) && !binds {
            owner
        } else {
            Some(operation)
        };
        self.flags.set(Flag::Binds, binds);
        if self.node.is_some() {
            self.depth = depth.saturating_add(1);
        }
        self.hard = Some(hard);
        self.started = Some(now);
        Some(Limits::of(self.hard, operation.figures.kept))
    }

    /// The same of a context made by hand with nothing around it: what holds was worked out when it was made.
    #[inline(always)]
    pub(super) fn admit_made(&mut self) -> Option<Limits> {
        const KINDS: [Flag; 5] = [
            Flag::Fixed,
            Flag::Explicit,
            Flag::Attends,
            Flag::Again,
            Flag::Quiet,
        ];
        let node = self.node.as_ref()?;
        let fixed = self.flags.has(Flag::Fixed) && self.operation.is_none();
        if !fixed || self.flags.any_but(Flags::of(KINDS)) {
            return None;
        }
        if node.mode != Mode::Enforce || node.signal.is_set() {
            return None;
        }
        let needs = node.operation.described().needs()?;
        if self.hard?.is_within(needs, Deadline::now()) {
            return None;
        }
        self.flags.set(Flag::Binds, node.own);
        self.begun();
        Some(self.limits())
    }

    /// Finds out what holds for this run, and whether it may begin.
    ///
    /// One request: the polling context decides, so that a future which was created in a narrow scope and is awaited
    /// in a wide one gets the wide limit. Two requests, or an explicit context: both bind.
    #[inline]
    pub(super) fn admit(&mut self, mut outer: Option<&mut Frame>) -> Admission {
        let fixed = if self.flags.has(Flag::Fixed) {
            self.hard.take()
        } else {
            None
        };
        let (mut foreign, mut same) = (None, false);
        if !self.flags.has(Flag::Replaces)
            && let Some(polling) = outer.as_deref_mut().filter(|outer| !outer.is_none())
        {
            (foreign, same) = self.meet_first(polling);
        }
        let mode = self.mode();
        if self.flags.has(Flag::Always) && !mode.enforces() {
            self.hard = fixed;
            self.flags.set(Flag::Binds, true);
            self.owner = None;
            return Admission {
                also: self.meet(outer),
                unbounded: false,
                refusal: None,
            };
        }
        if mode == Mode::Off {
            self.hard = None;
            self.owner = None;
            return Admission {
                also: self.meet(outer),
                unbounded: false,
                refusal: None,
            };
        }
        let now = Deadline::now();
        let started = *self.started.get_or_insert(now);
        let inherited = self.hard;
        let own = if self.flags.has(Flag::Fixed) {
            fixed
        } else if let Some(cap) = self.overriding(started, inherited) {
            Some(started.plus(cap))
        } else if let Some(cap) = self.description().figures.cap {
            Some(started.later(cap))
        } else {
            let left = inherited.map(|soft| soft.since(started));
            let granted = self.description().budget.granted(left);
            granted.map(|granted| started.plus(granted))
        };
        match own {
            Some(own) if inherited.is_none_or(|inherited| own < inherited) => {
                self.hard = Some(own);
                // The budget of the outermost scope is the request's deadline, not a dependency's.
                let binds = match (self.operation, &self.node) {
                    (None, Some(node)) => node.own,
                    (_, node) => node.is_some(),
                };
                self.flags.set(Flag::Binds, binds);
                self.flags.set(Flag::Part, false);
                self.owner = self.operation;
            }
            _ => {
                self.flags.set(Flag::Binds, false);
                if let Some((limit, node)) = foreign.zip(self.node.as_ref()) {
                    self.node = Some(Node::child(node, self.seed(limit, started)));
                    self.flags.set(Flag::OwnsNode, true);
                }
            }
        }
        let also = match outer {
            Some(outer) if same => outer.also.clone(),
            outer => self.meet(outer),
        };
        let refusal = self.refusal(now, inherited, also.as_ref());
        Admission {
            also,
            unbounded: self.hard.is_none(),
            refusal: refusal.filter(|cause| {
                if !mode.enforces() {
                    self.unenforced = match cause {
                        Cause::LocalBudgetRejected => Unenforced::WouldRefuse,
                        _ => Unenforced::BeganLate,
                    };
                }
                mode.enforces()
            }),
        }
    }

    /// What is granted instead of what is written, if the request's root says so.
    #[inline]
    fn overriding(&self, started: Deadline, inherited: Option<Deadline>) -> Option<Duration> {
        let node = self.node.as_ref().filter(|node| node.overridden)?;
        let left = inherited.map(|soft| soft.since(started));
        node.overrides()?.of_scope(self.operation?, left)
    }

    /// Why it may not begin.
    fn refusal(
        &mut self,
        now: Deadline,
        inherited: Option<Deadline>,
        also: Option<&Arc<Node>>,
    ) -> Option<Cause> {
        if self.description().parent_required && inherited.is_none() {
            self.flags.set(Flag::NoDeadline, true);
            return Some(Cause::LocalBudgetRejected);
        }
        if let Some((cause, at)) = first_cancel(self.node.as_ref(), also) {
            let expired = inherited.is_some_and(|soft| soft <= at);
            return Some(if expired {
                Cause::DeadlineExceeded
            } else {
                cause
            });
        }
        let hard = self.hard?;
        if hard <= now {
            return Some(self.limit_cause());
        }
        // A shield asks for its whole bound, from where it was entered.
        let from = if self.flags.has(Flag::Shield) {
            self.started.unwrap_or(now)
        } else {
            now
        };
        let figures = &self.description().terms.figures;
        let least = match figures.least {
            Some(least) if !self.flags.has(Flag::Shield) => least,
            _ => {
                let left = inherited.map(|soft| soft.since(self.started.unwrap_or(now)));
                nanos(self.least(self.description().budget.granted(left)))
            }
        };
        hard.sooner(figures.kept)
            .is_within(least, from)
            .then_some(Cause::LocalBudgetRejected)
    }

    /// The context that polls first; returned is its limit, if that binds and has no owner but its node, and whether
    /// its node is now the scope's own.
    #[inline]
    fn meet_first(&mut self, polling: &mut Frame) -> (Option<Limit>, bool) {
        let (soft, owner) = (polling.limits.soft, polling.owner);
        let depth = polling.depth.saturating_add(1);
        let polling_binds = polling.binds;
        let node = polling.node();
        let captured = self.node.as_ref();
        let very_same = captured.is_some_and(|captured| Arc::ptr_eq(captured, node));
        let part = very_same && self.flags.has(Flag::Again) && polling_binds;
        self.flags.set(Flag::Part, part);
        let same = very_same || captured.is_none_or(|captured| captured.same_request(node));
        if same {
            self.depth = depth;
        }
        if same && !self.flags.has(Flag::Explicit) {
            if !very_same {
                self.node = Some(node.clone());
            }
            self.hard = soft;
            self.owner = owner;
            return (None, true);
        }
        let earlier = soft.is_some_and(|soft| self.hard.is_none_or(|hard| soft < hard));
        if !earlier {
            return (None, false);
        }
        self.hard = soft;
        self.owner = owner;
        let foreign = match owner {
            Some(_) => None,
            None => Some(node.limit),
        };
        (foreign, false)
    }

    /// Looks at the context that polls: its node becomes the scope's own if both are of one request; if not, it is
    /// returned, because then both bind.
    #[inline]
    pub(super) fn meet(&mut self, outer: Option<&mut Frame>) -> Option<Arc<Node>> {
        let outer = outer?;
        // Mostly the scope around this one is of the same request, and there is no other.
        if self.node.as_ref().is_some_and(|own| outer.is_just(own)) {
            return None;
        }
        self.meet_another(outer)
    }

    #[inline(never)]
    fn meet_another(&mut self, outer: &mut Frame) -> Option<Arc<Node>> {
        if self.flags.has(Flag::Replaces) || outer.is_none() {
            return None;
        }
        let fixed = self.flags.has(Flag::Explicit) || self.flags.has(Flag::OwnsNode);
        let polling = outer.node();
        let beside = match &mut self.node {
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
    }

    /// A node of this scope's own, whose limit is that of a request around it.
    fn seed(&self, limit: Limit, started: Deadline) -> Seed {
        let operation = match (self.operation, &self.node) {
            (Some(operation), _) => Named::from(operation),
            (None, Some(node)) => node.operation.clone(),
            (None, None) => Named::from(&Operation::UNNAMED),
        };
        Seed {
            operation,
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
    #[inline]
    fn least(&self, granted: Option<Duration>) -> Duration {
        let budget = &self.description().terms.budget;
        let least = if self.flags.has(Flag::Shield) {
            budget.granted(None).unwrap_or_default()
        } else {
            budget.least(granted)
        };
        least.max(SHORTEST)
    }

    /// What had to be left before the hard end for the scope to begin.
    pub(super) fn needs(&self) -> Duration {
        let budget = &self.description().terms.budget;
        // A share of what was left is what lies between start and end.
        let granted = budget
            .granted(None)
            .or_else(|| Some(self.hard?.since(self.started?)));
        self.least(granted).saturating_add(budget.kept())
    }
}
