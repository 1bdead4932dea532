//! [`PropagateDeadlineLayer`].

use tower_layer::Layer;

use super::hosts::InternalHosts;
use super::service::PropagateDeadline;

/// Sends every request of the client below it inside the deadline of the calling context.
///
/// Internal hosts are told what is left for work, in whole milliseconds rounded down, and the request id; copies that
/// the caller wrote are replaced. With nothing left nothing is sent: the call fails with a [`Stopped`](crate::Stopped)
/// before the client is asked. The call ends with the context it was made in; the body of the answer is read inside
/// whatever scope reads it. Without a deadline, and in modes that do not hand it on, no header is sent.
///
/// Below a retry layer the figure is computed for each attempt; above one, every attempt would repeat the first figure.
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
}

impl PropagateDeadlineLayer {
    /// A layer that tells `hosts`.
    #[must_use]
    pub const fn new(hosts: InternalHosts) -> Self {
        Self { hosts }
    }
}

impl<S> Layer<S> for PropagateDeadlineLayer {
    type Service = PropagateDeadline<S>;

    fn layer(&self, inner: S) -> Self::Service {
        PropagateDeadline::new(inner, self.hosts.clone())
    }
}
