//! [`Context`] as a value: what code asks for by name.

use std::fmt;
use std::future::Future;
use std::num::NonZeroU32;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::current::{self, Entered, Frame, Inherited};
use super::mode::Mode;
use super::node::{Limits, Node, Seed};
use super::report::{Missing, Report};
use super::root::RootBuilder;
use crate::scope::{Driver, Named, Run};
use crate::stop::{Cause, PathEntry, Phase, Stopped};
use crate::tasks::{Counted, Gauge};
use crate::time::{Budget, Deadline};

/// The deadline, the cancellation and the identity of one request, as a value.
///
/// Annotated functions carry it by themselves; code that wants to ask (`remaining`), to hand it on by hand (`child`,
/// `run`) or to end it (`cancel`) takes it from [`Context::current`]. Cheap to clone; every clone is the same context.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Budget, Cause, Context};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let request = Context::root("request", Budget::new(Duration::from_millis(500)));
/// let query = request.child(Budget::new(Duration::from_millis(200)));
/// assert_eq!(query.remaining(), Some(Duration::from_millis(200)));
///
/// let stopped = query.run(std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(stopped.cause(), Cause::DependencyTimeout);
/// assert_eq!(request.remaining(), Some(Duration::from_millis(300)));
/// # }
/// ```
#[derive(Clone)]
pub struct Context(Option<Arc<Node>>);

impl Context {
    /// The context of the running scope, [`Context::none`] outside any.
    ///
    /// It is the scope's own: cancelling it stops this scope and what it started, not its siblings.
    #[must_use]
    pub fn current() -> Self {
        current::with(|frame| frame.own_node().cloned())
            .flatten()
            .map_or(Self::none(), Self::from_node)
    }

    /// No deadline, no cancellation, no request: for shared work that must not end with whoever happened to start it,
    /// such as the connect of a pooled connection.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// The context of a new request; see [`RootBuilder`] for everything that can be said about one.
    #[must_use]
    #[track_caller]
    pub fn root(operation: &'static str, budget: Budget) -> Self {
        Self::builder(operation).budget(budget).build()
    }

    /// Describes the context of a new request.
    #[track_caller]
    pub fn builder(operation: &'static str) -> RootBuilder {
        RootBuilder::new(operation, Location::caller())
    }

    pub(crate) fn from_node(node: Arc<Node>) -> Self {
        node.hand_out();
        Self(Some(node))
    }

    /// What is begun where there is no context at all inherits this: one request, without a limit.
    pub(crate) fn of_nothing(
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Inherited {
        let node = RootBuilder::new(operation, location).node();
        Inherited {
            soft: node.limits.soft,
            owner: None,
            depth: node.depth.saturating_add(1),
            node,
        }
    }

    /// What a scope inside this context inherits.
    pub(crate) fn inherited(&self) -> Option<Inherited> {
        let node = self.0.as_ref()?;
        Some(Inherited {
            node: node.clone(),
            soft: node.limits.soft,
            owner: None,
            depth: node.depth.saturating_add(1),
        })
    }

    #[cfg(feature = "test-util")]
    pub(crate) fn trip_at(&self, n: usize, cause: Cause) {
        if let Some(node) = self.node() {
            node.trip().set(n, cause);
        }
    }

    pub(crate) const fn node(&self) -> Option<&Arc<Node>> {
        self.0.as_ref()
    }

    /// A narrower context: its deadline is the earlier of this one's and `budget` from now, and it is cancelled with
    /// this one. The clock starts here.
    #[must_use]
    #[track_caller]
    pub fn child(&self, budget: impl Into<Budget>) -> Self {
        Self::below(
            self.inherited(),
            "child",
            budget.into(),
            Location::caller(),
            false,
        )
    }

    /// A child for work that is spawned below this context, with its node.
    pub(crate) fn below_at(
        &self,
        name: &'static str,
        budget: Budget,
        location: &'static Location<'static>,
    ) -> (Self, Arc<Node>) {
        let node = Self::node_below(self.inherited(), name, budget, location, false);
        (Self::from_node(node.clone()), node)
    }

    /// A child of `parent`. With `always` the budget is one that holds in every mode, where the parent's may not.
    pub(crate) fn below(
        parent: Option<Inherited>,
        name: &'static str,
        budget: Budget,
        location: &'static Location<'static>,
        always: bool,
    ) -> Self {
        Self::from_node(Self::node_below(parent, name, budget, location, always))
    }

    fn node_below(
        parent: Option<Inherited>,
        name: &'static str,
        budget: Budget,
        location: &'static Location<'static>,
        always: bool,
    ) -> Arc<Node> {
        let operation = Named::new(name, location, &budget);
        let Some(mut parent) = parent else {
            return RootBuilder::new(name, location).budget(budget).node();
        };
        let started = Deadline::now();
        if always && !parent.node.mode.enforces() {
            parent.soft = None;
        }
        let left = parent.soft.map(|soft| soft.since(started));
        let own = budget.granted(left).map(|granted| started.plus(granted));
        let shorter = own.filter(|own| parent.soft.is_none_or(|soft| *own < soft));
        let limit = match (shorter, parent.owner) {
            (Some(_), _) => operation.limit(),
            (None, Some(owner)) => owner.limit(),
            (None, None) => parent.node.limit,
        };
        let seed = Seed {
            limits: Limits::of(shorter.or(parent.soft), operation.figures.kept),
            limit,
            own: shorter.is_some(),
            started,
            mode: parent.node.mode,
            depth: parent.depth,
            of_scope: false,
            operation,
        };
        Node::child(&parent.node, seed)
    }

    /// The stop of this context, for work under it that cannot say so itself.
    pub(crate) fn stop_error(&self, phase: Phase) -> Stopped {
        self.stop_error_of(self.cause().unwrap_or(Cause::Abandoned), phase)
    }

    pub(crate) fn stop_error_of(&self, cause: Cause, phase: Phase) -> Stopped {
        let frame = Frame::of(self.node());
        let location = frame.operation().location;
        frame.stop_error(cause, phase, Deadline::now(), location, current::path())
    }

    /// Runs a future under this context, beside whatever context polls it: the earlier deadline and either
    /// cancellation hold.
    ///
    /// # Errors
    /// [`Stopped`] when the context was stopped before the future was ready, which is then dropped.
    pub fn run<F: Future>(&self, future: F) -> Run<F> {
        Run::new(self.0.clone(), false, future)
    }

    /// Runs synchronous code with this context as the ambient one, so that futures made in it capture it.
    pub fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        let _entered = self.entered();
        work()
    }

    fn entered(&self) -> Entered {
        current::enter_context(self.node())
    }

    /// Stops this context and everything below it; false if it was stopped before.
    ///
    /// The first cause wins. One that arrives after the deadline is recorded as `deadline_exceeded`: by then the
    /// work was over.
    #[allow(clippy::must_use_candidate, reason = "mostly called for its effect")]
    pub fn cancel(&self, cause: Cause) -> bool {
        self.node().is_some_and(|node| node.cancel(cause))
    }

    /// Why this context was stopped, if it was: by a cancel, or by the clock.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        self.cause_by(Deadline::now)
    }

    /// The same with the clock as it was read by the caller.
    pub(crate) fn cause_by(&self, now: impl FnOnce() -> Deadline) -> Option<Cause> {
        let node = self.node()?;
        // Mostly it was not, and there is nothing to be found out.
        if !node.mode.enforces() {
            return None;
        }
        let now = match (node.signal.get(), node.limits.soft) {
            (None, None) => return None,
            (None, Some(soft)) => Some(now()).filter(|now| soft <= *now)?,
            (Some((_, at)), _) => at,
        };
        Frame::of(Some(node)).stopped(|| now)
    }

    /// The context of the running scope, for whoever only looks at it. [`current`](Self::current) makes a node for each scope
    /// that has none, so that it can be cancelled by itself; one that runs under a context made by hand has all of that one's.
    pub(crate) fn seen() -> Self {
        current::with(|frame| match &frame.node {
            Some(node) if frame.is_as(node) => Some(node.clone()),
            _ => frame.own_node().cloned(),
        })
        .flatten()
        .map_or(Self::none(), Self::from_node)
    }

    /// An error if the context is stopped. Reads the clock, so that it works in code which never gives its thread
    /// away.
    ///
    /// # Errors
    /// [`Stopped`], with the place of the caller.
    #[track_caller]
    pub fn check(&self) -> Result<(), Stopped> {
        let frame = Frame::of(self.node());
        let Some(cause) = frame.stopped(Deadline::now) else {
            return Ok(());
        };
        let mut path = current::path();
        path.push(PathEntry {
            operation: frame.operation().name,
            hard: frame.limits.hard,
        });
        Err(frame.stop_error(
            cause,
            Phase::Compute,
            Deadline::now(),
            Location::caller(),
            path,
        ))
    }

    /// Waits until the context is stopped, and says why. Where nothing is enforced, that never comes.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled {
            context: self.clone(),
            driver: Driver::default(),
        }
    }

    /// What is left for work; `None` without a deadline, zero when it has passed. A reserve is not part of it.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline().map(Deadline::remaining)
    }

    /// When work has to be over; `None` without a deadline, and in modes that do not show it.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let node = self.0.as_ref()?;
        node.limits.soft.filter(|_| node.mode.propagates())
    }

    /// Runs work that outlives this context, in a task of its own, with a budget of its own and for a stated reason.
    ///
    /// The future is made by a closure because arguments are evaluated before a call: a future made outside would
    /// have captured the deadline that it is to outlive. The request id is kept. Nobody waits for it but a
    /// [`Tracker`](crate::Tracker): dropping the handle does not stop it, its own budget does. What it records is in a
    /// report of its own, not in the request's: for work that still belongs to the request see
    /// [`critical`](Self::critical).
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does.
    #[track_caller]
    pub fn detach<F>(
        &self,
        reason: &'static str,
        budget: impl Into<Budget>,
        work: impl FnOnce() -> F,
    ) -> JoinHandle<Result<F::Output, Stopped>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let context = RootBuilder::new(reason, Location::caller())
            .budget(budget.into())
            .left_behind_by(self)
            .build();
        tracing::debug!(target: crate::scope::TARGET, reason, "detached");
        let held = context.node().and_then(|node| Gauge::Detached.hold(node));
        let future = context.enter(work);
        tokio::spawn(Counted::new(Run::new(context.0, true, future), held))
    }

    /// What fallbacks have replaced in this request so far.
    #[must_use]
    pub fn missing(&self) -> Vec<Missing> {
        self.node()
            .map(|node| node.records().with(|all| all.missing.clone()))
            .unwrap_or_default()
    }

    /// The breakdown of this request so far; `None` without a context. Scopes are in it if the root was built with
    /// [`RootBuilder::report`].
    #[must_use]
    pub fn report(&self) -> Option<Report> {
        self.node().map(Node::report)
    }

    /// How much is enforced.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.node().map_or(Mode::Enforce, |node| node.mode)
    }

    /// The id the request was given.
    #[must_use]
    pub fn request_id(&self) -> Option<Arc<str>> {
        self.node().and_then(Node::request_id)
    }

    /// The number of the attempt that this work is part of, from 1 on, if somebody above repeats it when it fails: a
    /// retry around it in this process, or the caller of the request, who has said so in `x-request-attempt`. `None`
    /// where nobody does.
    ///
    /// Whoever would retry below leaves it to the one above: three layers of three attempts are then three calls at the
    /// bottom instead of twenty-seven.
    #[must_use]
    pub fn attempt(&self) -> Option<NonZeroU32> {
        self.node().and_then(|node| node.attempt())
    }

    /// A child of this context for one attempt of something that is repeated when it fails. It has no limit of its own.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use std::time::Duration;
    /// use deadline_runtime::{Budget, Context};
    ///
    /// let request = Context::root("request", Budget::new(Duration::from_millis(500)));
    /// let first = request.in_attempt(NonZeroU32::MIN);
    /// assert_eq!(first.attempt(), Some(NonZeroU32::MIN));
    /// assert_eq!(first.child(Duration::from_millis(50)).attempt(), Some(NonZeroU32::MIN));
    /// assert_eq!(request.attempt(), None);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn in_attempt(&self, number: NonZeroU32) -> Self {
        let inherited = Budget::inherited();
        let attempt = Self::below(
            self.inherited(),
            "attempt",
            inherited,
            Location::caller(),
            false,
        );
        if let Some(node) = attempt.node() {
            node.set_attempt(number);
        }
        attempt
    }

    /// Whether there is a context at all.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

/// `Context(dashboard, 340ms left)`
impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Context(none)"),
            Some(node) => {
                write!(f, "Context({}, ", node.operation.name)?;
                match (self.cause(), node.limits.soft) {
                    (Some(cause), _) => write!(f, "{cause})"),
                    (None, Some(soft)) => {
                        write!(f, "{} left)", crate::time::Short(soft.remaining()))
                    }
                    (None, None) => f.write_str("unlimited)"),
                }
            }
        }
    }
}

/// The future of [`Context::cancelled`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Cancelled {
    context: Context,
    driver: Driver,
}

impl Future for Cancelled {
    type Output = Cause;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Cause> {
        let this = self.get_mut();
        if let Some(cause) = this.context.cause() {
            return Poll::Ready(cause);
        }
        // Where nothing is enforced nothing is ever stopped.
        if let Some(node) = this.context.node().filter(|node| node.mode.enforces()) {
            this.driver
                .wait(node.limits.soft, Some(node), None, false, cx);
        }
        Poll::Pending
    }
}

/// `tokio::time::timeout` under the context of the request: to migrate, change the import.
///
/// The limit counts from the call and is never later than the request's own deadline. Unlike tokio's, a future that
/// would start after its limit is refused without being polled. It is the program's own limit: in modes that do not enforce
/// the request's deadline it holds all the same, so that changing the import never switches it off.
///
/// # Errors
/// [`Stopped`] when the limit, the request's deadline or a cancel came first; its
/// [`limited_by`](Stopped::limited_by) says which.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::timeout;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// assert!(timeout(Duration::from_millis(5), std::future::pending::<()>()).await.is_err());
/// assert_eq!(timeout(Duration::from_millis(5), async { 7 }).await.ok(), Some(7));
/// # }
/// ```
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Run<F::IntoFuture> {
    let context = Context::below(
        current::inherit(),
        "timeout",
        Budget::new(duration),
        Location::caller(),
        true,
    );
    Run::always(context.0, future.into_future())
}
