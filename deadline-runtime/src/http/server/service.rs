//! [`DeadlineService`].

use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body;
use tower_service::Service;

use super::future::ResponseFuture;
use super::layer::Shared;
use super::request_body::RequestBody;
use super::response_body::ResponseBody;

/// The service of a [`DeadlineLayer`](super::DeadlineLayer).
///
/// It is always ready: a limiter below it is waited for inside the deadline of the request that waits, because a wait
/// in `poll_ready` belongs to no request and would not count.
#[derive(Debug, Clone)]
pub struct DeadlineService<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> DeadlineService<S> {
    pub(super) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S, B, B2> Service<Request<B>> for DeadlineService<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<B2>> + Clone,
    B: Body,
    B2: Body<Data = Bytes>,
    B2::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ResponseBody<B2>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        ResponseFuture::start(&self.shared, self.inner.clone(), request)
    }
}
