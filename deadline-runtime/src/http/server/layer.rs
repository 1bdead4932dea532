//! [`DeadlineLayer`].

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tower_layer::Layer;

use super::received::Usual;
use super::service::DeadlineService;
use crate::http::request_id::Ids;
use crate::http::{Policy, Shutdown};
use crate::scope::{Operation, TARGET};
use crate::tasks::Tracker;
use crate::time::{Budget, Deadline};

/// Runs the service below it inside the deadline of each request.
///
/// For every request it reads how long the caller waits, makes the root [`Context`](crate::Context) (also found in the
/// request's extensions), runs the service in it and answers for it when it is stopped: `application/problem+json` with
/// the cause, and the header `x-deadline-cause`. Queueing behind this layer, the bodies and the handler share the one
/// deadline. When a scope of the request was stopped and the handler answers 5xx without our header, because its error
/// type knows only one way to fail, the answer of the stop is sent instead; a stop that a fallback replaced does not
/// count.
///
/// Layers can be nested, one for the service and a shorter one for a route: they share the request's id and its event,
/// and the earlier deadline holds.
///
/// How much of this happens is the [`Mode`](crate::Mode) of the policy.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::{DeadlineLayer, Policy};
/// use tower::ServiceBuilder;
///
/// let policy = Policy::new().default(Duration::from_millis(1_500));
/// let stack = ServiceBuilder::new().layer(DeadlineLayer::new("dashboard", policy));
/// # let _ = stack;
/// ```
#[derive(Debug, Clone)]
pub struct DeadlineLayer {
    shared: Arc<Shared>,
}

/// What every request of one layer has in common.
///
/// The count of ids comes first: beside the count of references, which every request writes as well.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Shared {
    pub(super) ids: Ids,
    pub(super) operation: &'static str,
    pub(super) location: &'static Location<'static>,
    pub(super) policy: Policy,
    pub(super) usual: Usual,
    /// Without any limit.
    pub(super) unlimited: Operation,
    pub(super) outermost: bool,
    pub(super) tracker: Option<Tracker>,
    pub(super) shutdown: Option<Shutdown>,
    /// How many requests came with a date that was not believed.
    skewed: AtomicU64,
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self {
            ids: Ids::new(),
            policy: self.policy.clone(),
            tracker: self.tracker.clone(),
            shutdown: self.shutdown.clone(),
            skewed: AtomicU64::new(self.skewed.load(Ordering::Relaxed)),
            ..*self
        }
    }
}

impl Shared {
    /// Said at the first, second, fourth and so on, with the count: a clock that is off is off for every request.
    pub(super) fn skewed(&self, header: &str, request_id: &str) {
        let count = self
            .skewed
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1);
        if count.is_power_of_two() {
            tracing::warn!(
                target: TARGET,
                clock_skew_suspected = count,
                header,
                op = self.operation,
                request_id,
                "another clock than ours, its date does not count"
            );
        }
    }
}

impl DeadlineLayer {
    /// A layer whose requests are called `operation` in events and reports. The place of the call is what
    /// [`Stopped::limited_by`](crate::Stopped::limited_by) names.
    ///
    /// With the feature `fast-clock` this calibrates the clock, unless it has been read before.
    #[must_use]
    #[track_caller]
    pub fn new(operation: &'static str, policy: Policy) -> Self {
        if let Err(error) = policy.fits() {
            tracing::warn!(target: TARGET, op = operation, %error, "every request will be refused");
        }
        // The first read of a clock may have to calibrate it: here, where no request waits.
        let _ = Deadline::now();
        let location = Location::caller();
        Self {
            shared: Arc::new(Shared {
                ids: Ids::new(),
                operation,
                location,
                usual: Usual::of(operation, location, &policy),
                unlimited: Operation::new(operation, location, Budget::inherited()),
                policy,
                outermost: false,
                tracker: None,
                shutdown: None,
                skewed: AtomicU64::new(0),
            }),
        }
    }

    /// Refuses requests once `shutdown` has begun, and shows it those in flight; what they leave running is counted by its
    /// [tracker](Shutdown::tracker).
    #[must_use]
    pub fn shutdown(mut self, shutdown: &Shutdown) -> Self {
        let shared = Arc::make_mut(&mut self.shared);
        shared.tracker = Some(shutdown.tracker().clone());
        shared.shutdown = Some(shutdown.clone());
        self
    }

    /// Whether nothing outside this layer drops requests but the server itself, when the client has gone. A request that
    /// is dropped before its answer is complete then has the cause `client_cancelled`. Without that evidence it is
    /// `abandoned`: another timeout layer outside this one looks just the same.
    #[must_use]
    pub fn outermost(mut self, outermost: bool) -> Self {
        Arc::make_mut(&mut self.shared).outermost = outermost;
        self
    }

    /// Counts what runs for the requests of this layer, so that a shutdown can wait for it. A request counts until the head
    /// of its answer is there.
    #[must_use]
    pub fn tracker(mut self, tracker: &Tracker) -> Self {
        Arc::make_mut(&mut self.shared).tracker = Some(tracker.clone());
        self
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = DeadlineService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        DeadlineService::new(inner, self.shared.clone())
    }
}
