//! [`PropagateDeadlineLayer`].

use std::time::Duration;

use tower_layer::Layer;

use super::hosts::InternalHosts;
use super::service::PropagateDeadline;
use super::warm::Warm;

/// Sends every request of the client below it inside the deadline of the calling context.
///
/// Internal hosts are told what is left for work, in whole milliseconds rounded down, and the request id; copies that
/// the caller wrote are replaced. With nothing left nothing is sent: the call fails with a [`Stopped`](crate::Stopped)
/// before the client is asked. The call ends with the context it was made in, and so does the body of its answer, whoever
/// reads it. Without a deadline, and in modes that do not hand it on, no header is sent.
///
/// | request | is told |
/// |---|---|
/// | any | `x-request-timeout-ms`, `x-request-id`; `x-request-attempt` where somebody above repeats |
/// | gRPC | `grpc-timeout` instead, the shorter of the call's own option and what is left; `grpc-previous-rpc-attempts` |
///
/// Below a retry layer the figure is computed for each attempt; above one, every attempt would repeat the first figure.
///
/// Around a channel of tonic's (feature `tonic`) a stop is a `tonic::Status` with its code and has the
/// [`Stopped`](crate::Stopped) as its source.
///
/// ```
/// use deadline_runtime::http::{InternalHosts, PropagateDeadlineLayer};
/// use tower::ServiceBuilder;
///
/// let stack = ServiceBuilder::new()
///     .layer(PropagateDeadlineLayer::new(InternalHosts::new(["profile", "orders"])));
/// # let _ = stack;
/// ```
#[derive(Debug, Clone)]
pub struct PropagateDeadlineLayer {
    hosts: InternalHosts,
    warm: Warm,
}

impl PropagateDeadlineLayer {
    /// A layer that tells `hosts`.
    #[must_use]
    pub fn new(hosts: InternalHosts) -> Self {
        Self {
            hosts,
            warm: Warm::new(Duration::ZERO),
        }
    }

    /// What opening a connection takes, as an estimate: the first call to a host, and one after a long pause, is told so
    /// much less, because the peer's clock starts only when the request arrives. A call that has not even so much left is
    /// refused with `local_budget_rejected`. Zero unless said otherwise.
    #[must_use]
    pub fn connect_estimate(mut self, estimate: Duration) -> Self {
        self.warm = Warm::new(estimate);
        self
    }
}

impl<S> Layer<S> for PropagateDeadlineLayer {
    type Service = PropagateDeadline<S>;

    fn layer(&self, inner: S) -> Self::Service {
        PropagateDeadline::new(inner, self.hosts.clone(), self.warm.clone())
    }
}
