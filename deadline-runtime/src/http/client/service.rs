//! [`PropagateDeadline`].

use std::task::{Context, Poll};

use ::http::Request;
use ::http::header::HOST;
use tower_service::Service;

use super::future::PropagateFuture;
use super::hosts::InternalHosts;
use super::outgoing::Outgoing;

/// The service of a [`PropagateDeadlineLayer`](super::PropagateDeadlineLayer).
///
/// Its error is a box, as that of tower's timeout: the client's own error, or a [`Stopped`](crate::Stopped), which
/// [`Stopped::find`](crate::Stopped::find) digs out.
#[derive(Debug, Clone)]
pub struct PropagateDeadline<S> {
    inner: S,
    hosts: InternalHosts,
}

impl<S> PropagateDeadline<S> {
    pub(super) const fn new(inner: S, hosts: InternalHosts) -> Self {
        Self { inner, hosts }
    }
}

impl<S, B> Service<Request<B>> for PropagateDeadline<S>
where
    S: Service<Request<B>>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = S::Response;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = PropagateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let outgoing = Outgoing::here();
        let sent = match outgoing.admit() {
            Ok(sent) => sent,
            Err(stopped) => return PropagateFuture::refused(stopped),
        };
        if host(&request).is_some_and(|host| self.hosts.contains(host)) {
            outgoing.write(&sent, request.headers_mut());
        }
        PropagateFuture::sent(outgoing.cx.run(self.inner.call(request)))
    }
}

/// Clients that are given only a path name the host in a header.
fn host<B>(request: &Request<B>) -> Option<&str> {
    request.uri().host().or_else(|| {
        let host = request.headers().get(HOST)?.to_str().ok()?;
        match host.strip_prefix('[') {
            Some(address) => address.split(']').next(),
            None => host.split(':').next(),
        }
    })
}
