//! [`RootBuilder`]: the context of a new request.

use std::num::NonZeroU32;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use super::handle::Context;
use super::id::Id;
use super::mode::Mode;
use super::node::{Limits, Node, Request, Seed};
use super::overrides::{Overrides, Table};
use crate::scope::Operation;
use crate::tasks::Tracker;
use crate::time::{Budget, Deadline};

/// Describes the context of a new request, for whoever receives one: a server layer, a job worker, a test.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Budget, Context, Mode};
///
/// let cx = Context::builder("GET /dashboard")
///     .budget(Budget::new(Duration::from_millis(1_500)).reserve(Duration::from_millis(100)))
///     .mode(Mode::Enforce)
///     .request_id("8f14e45f")
///     .report(true)
///     .build();
/// assert!(cx.remaining() <= Some(Duration::from_millis(1_400)));
/// ```
#[derive(Debug)]
#[must_use = "nothing happens before `build`"]
pub struct RootBuilder {
    operation: &'static str,
    location: &'static Location<'static>,
    budget: Budget,
    started: Option<Deadline>,
    deadline: Option<Deadline>,
    mode: Mode,
    request_id: Option<Id>,
    report: bool,
    overrides: Option<Arc<Table>>,
    attempt: Option<NonZeroU32>,
    tracker: Option<Tracker>,
    grace: Option<Duration>,
    background: bool,
}

impl RootBuilder {
    pub(crate) fn new(operation: &'static str, location: &'static Location<'static>) -> Self {
        Self {
            operation,
            location,
            budget: Budget::inherited(),
            started: None,
            deadline: None,
            mode: Mode::Enforce,
            request_id: None,
            report: false,
            overrides: None,
            attempt: None,
            tracker: None,
            grace: None,
            background: false,
        }
    }

    /// What the request may take, counted from its start.
    pub fn budget(mut self, budget: impl Into<Budget>) -> Self {
        self.budget = budget.into();
        self
    }

    /// When the request has to be over; the earlier of this and the budget holds.
    pub fn deadline(mut self, deadline: Deadline) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// When the request arrived, if that was before now: time in a queue counts.
    pub fn started(mut self, started: Deadline) -> Self {
        self.started = Some(started);
        self
    }

    /// How much is enforced.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The id that goes into events and outgoing requests.
    pub fn request_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.request_id = Some(Id::Text(id.into()));
        self
    }

    /// Whether every scope is written down for [`Context::report`].
    pub fn report(mut self, report: bool) -> Self {
        self.report = report;
        self
    }

    /// Budgets by operation name, instead of what is written in the program. They are those of this moment: a request
    /// keeps what it began with.
    pub fn overrides(mut self, overrides: &Overrides) -> Self {
        self.overrides = overrides.table();
        self
    }

    /// The number of the attempt that the caller makes, if it repeats what fails; see [`Context::attempt`].
    pub fn attempt(mut self, attempt: Option<NonZeroU32>) -> Self {
        self.attempt = attempt;
        self
    }

    /// Counts what runs for this request, so that a shutdown can wait for it; everything below has it.
    pub fn tracker(mut self, tracker: &Tracker) -> Self {
        self.tracker = Some(tracker.clone());
        self
    }

    /// How long tasks may tidy up when the scope that spawned them ends, and hooks after a stop; 100 ms if nothing is said.
    /// Tasks get no more of it than is left to their scope's hard deadline.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Goes on with what a descendant of `context` inherits, for work that a request leaves behind.
    pub(crate) fn left_behind_by(mut self, context: &Context) -> Self {
        self.background = true;
        self.mode = context.mode();
        self.request_id = context.request_id().map(Id::Text);
        if let Some(node) = context.node() {
            self.tracker = node.tracker().cloned();
            self.grace = Some(node.grace());
            self.overrides = node.overrides().cloned();
        }
        self
    }

    /// The context.
    #[must_use]
    pub fn build(self) -> Context {
        Context::from_node(self.node())
    }

    pub(crate) fn node(self) -> Arc<Node> {
        let started = self.started.unwrap_or_else(Deadline::now);
        let operation = Operation::new(self.operation, self.location, self.budget);
        let own = self
            .budget
            .granted(None)
            .map(|granted| started.plus(granted));
        let hard = Deadline::earlier(own, self.deadline);
        let seed = Seed {
            operation,
            limits: Limits::of(hard, operation.figures.kept),
            limit: operation.limit(),
            own: false,
            started,
            mode: self.mode,
            depth: 0,
            of_scope: false,
        };
        let says_more = self.background
            || self.overrides.is_some()
            || self.tracker.is_some()
            || self.grace.is_some();
        let request = says_more.then(|| {
            Box::new(Request {
                overrides: self.overrides,
                tracker: self.tracker,
                grace: self.grace,
                is_background: self.background,
                ..Request::default()
            })
        });
        let node = Node::identified(&seed, self.request_id, self.report, request);
        if let Some(attempt) = self.attempt {
            node.set_attempt(attempt);
        }
        node
    }
}
