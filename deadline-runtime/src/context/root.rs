//! [`RootBuilder`]: the context of a new request.

use std::num::NonZeroU32;
use std::panic::Location;
use std::sync::Arc;

use super::handle::Context;
use super::mode::Mode;
use super::node::{Limits, Node, Request, Seed};
use super::overrides::{Overrides, Table};
use crate::scope::Operation;
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
    request_id: Option<Arc<str>>,
    report: bool,
    overrides: Option<Arc<Table>>,
    attempt: Option<NonZeroU32>,
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
        self.request_id = Some(id.into());
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

    pub(crate) fn overridden_as(mut self, node: Option<&Arc<Node>>) -> Self {
        self.overrides = node.and_then(|node| node.overrides().cloned());
        self
    }

    /// The number of the attempt that the caller makes, if it repeats what fails; see [`Context::attempt`].
    pub fn attempt(mut self, attempt: Option<NonZeroU32>) -> Self {
        self.attempt = attempt;
        self
    }

    /// The context.
    #[must_use]
    pub fn build(self) -> Context {
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
        let request = Request {
            id: self.request_id,
            report: self.report,
            overrides: self.overrides,
            ..Request::default()
        };
        let node = Node::root(seed, request);
        if let Some(attempt) = self.attempt {
            node.set_attempt(attempt);
        }
        Context::from_node(node)
    }
}
