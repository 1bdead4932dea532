//! [`AdmissionLayer`].

use std::task::{Context, Poll};

use ::http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::body::AdmittedBody;
use super::future::AdmittedFuture;
use crate::admission::Admission;

/// Takes a slot of an [`Admission`] for each request and holds it until the answer's last byte.
///
/// It belongs inside a [`DeadlineLayer`](crate::http::DeadlineLayer), so that the wait for a slot counts, and outside what needs
/// the slots. Who is refused gets 503 with `x-deadline-cause: overload` and a `Retry-After` of the expected wait; a gRPC
/// request gets its code 8. The handler is not entered, and the request's body is not read.
///
/// A stream holds its slot as long as it lasts: give endpoints with `text/event-stream` an admission of their own.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::admission::Admission;
/// use deadline_runtime::http::{AdmissionLayer, DeadlineLayer, Policy};
/// use tower::ServiceBuilder;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let admission = Admission::for_pool("reports", 10, 2)
///     .min(Duration::from_millis(50))
///     .build()?;
/// let stack = ServiceBuilder::new()
///     .layer(DeadlineLayer::new("GET /reports", Policy::new()))
///     .layer(AdmissionLayer::new(admission));
/// # let _ = stack;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AdmissionLayer {
    admission: Admission,
}

impl AdmissionLayer {
    /// A layer in front of services that share these slots.
    #[must_use]
    pub const fn new(admission: Admission) -> Self {
        Self { admission }
    }
}

impl<S> Layer<S> for AdmissionLayer {
    type Service = Admitted<S>;

    fn layer(&self, inner: S) -> Admitted<S> {
        Admitted {
            inner,
            admission: self.admission.clone(),
        }
    }
}

/// The service of an [`AdmissionLayer`]. It is always ready: a slot belongs to a request, which has to be there first.
#[derive(Debug, Clone)]
pub struct Admitted<S> {
    inner: S,
    admission: Admission,
}

impl<S, B, B2> Service<Request<B>> for Admitted<S>
where
    S: Service<Request<B>, Response = Response<B2>> + Clone,
{
    type Response = Response<AdmittedBody<B2>>;
    type Error = S::Error;
    type Future = AdmittedFuture<S, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        AdmittedFuture::new(self.admission.enter(), self.inner.clone(), request)
    }
}
