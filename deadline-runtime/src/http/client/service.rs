//! [`PropagateDeadline`].

use std::task::{Context, Poll};
use std::time::Duration;

use ::http::header::HOST;
use ::http::{Request, Response};
use tower_service::Service;

use super::fault::BoxError;
use super::future::{Arrival, PropagateFuture};
use super::hosts::InternalHosts;
use super::outgoing::Outgoing;
use super::warm::Warm;
use crate::http::grpc;

/// The service of a [`PropagateDeadlineLayer`](super::PropagateDeadlineLayer).
///
/// Its error is a box, as that of tower's timeout: the client's own error, or a [`Stopped`](crate::Stopped), which
/// [`Stopped::find`](crate::Stopped::find) digs out. An error of the client's that comes when our own time is over is a
/// stop of ours with that error as its source.
#[derive(Debug, Clone)]
pub struct PropagateDeadline<S> {
    inner: S,
    hosts: InternalHosts,
    warm: Warm,
}

impl<S> PropagateDeadline<S> {
    pub(super) const fn new(inner: S, hosts: InternalHosts, warm: Warm) -> Self {
        Self { inner, hosts, warm }
    }
}

impl<S, B, R> Service<Request<B>> for PropagateDeadline<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<super::InboundBody<R>>;
    type Error = BoxError;
    type Future = PropagateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let outgoing = Outgoing::here();
        let is_grpc = grpc::asked_by(&request).is_some();
        let host = host(&request);
        let cold = host.map_or(Duration::ZERO, |host| self.warm.estimate(host));
        let call = match outgoing.admit(cold) {
            Ok(call) => call,
            Err(stopped) => return PropagateFuture::refused(stopped, is_grpc),
        };
        let arrival = Arrival {
            cx: outgoing.cx.clone(),
            call,
            is_grpc,
            warm: self.warm.clone(),
            host: host.filter(|_| self.warm.estimates()).map(Box::from),
        };
        if self.hosts.admits(host) {
            if is_grpc {
                outgoing.write_grpc(&call, request.headers_mut());
            } else {
                outgoing.write(&call, request.headers_mut());
            }
        }
        PropagateFuture::sent(outgoing.cx.run(self.inner.call(request)), arrival)
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
