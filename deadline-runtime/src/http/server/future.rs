//! [`ResponseFuture`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http::header::CONTENT_LENGTH;
use ::http::{Method, Request, Response};
use bytes::Bytes;
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::admission::Admission;
use super::call::Call;
use super::exchange::Exchange;
use super::layer::Shared;
use super::request_body::RequestBody;
use super::response_body::ResponseBody;
use crate::http::header::{DEADLINE_CAUSE, DEADLINE_DETAIL};
use crate::http::{answer, codec};
use crate::scope::Run;
use crate::stop::Brief;
use crate::time::Deadline;

pin_project! {
    /// The future of a [`DeadlineService`](super::DeadlineService): the inner service's answer, or ours.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ResponseFuture<S, B>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        // Dropped before the run, so that the run finds the cause recorded.
        exchange: Option<Exchange>,
        refused: Option<codec::Malformed>,
        head_only: bool,
        #[pin]
        run: Run<Call<S, RequestBody<B>>>,
    }
}

impl<S, B> ResponseFuture<S, B>
where
    S: Service<Request<RequestBody<B>>>,
{
    pub(super) fn start(shared: &Arc<Shared>, service: S, mut request: Request<B>) -> Self {
        let Admission { exchange, refused } = Admission::of(shared, &mut request);
        let head_only = request.method() == Method::HEAD;
        let request = request.map(|body| RequestBody::new(body, exchange.progress.clone()));
        let call = Call::new(service, request, exchange.progress.clone());
        let context = exchange.cx.node().cloned();
        Self {
            run: Run::quiet(context, call),
            exchange: Some(exchange),
            refused,
            head_only,
        }
    }
}

impl<S, B, B2> Future for ResponseFuture<S, B>
where
    S: Service<Request<RequestBody<B>>, Response = Response<B2>>,
    B: Body,
    B2: Body<Data = Bytes>,
{
    type Output = Result<Response<ResponseBody<B2>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(malformed) = this.refused.take()
            && let Some(exchange) = this.exchange.take()
        {
            return Poll::Ready(Ok(exchange.refused(malformed).map(ResponseBody::ours)));
        }
        let polling = |exchange: &mut Option<Exchange>, polling| {
            if let Some(exchange) = exchange {
                exchange.polling = polling;
            }
        };
        polling(this.exchange, true);
        let ended = this.run.poll(cx);
        polling(this.exchange, false);
        let ended = ready!(ended);
        let Some(mut exchange) = this.exchange.take() else {
            return Poll::Pending;
        };
        // For layers further out: which request it was and how it went.
        let request = exchange.cx.clone();
        let mut response = match ended {
            Ok(Ok(response)) => answered(exchange, response, *this.head_only),
            Ok(Err(error)) => {
                exchange.headed();
                exchange.finish();
                return Poll::Ready(Err(error));
            }
            Err(stopped) => exchange.stopped(stopped.brief()).map(ResponseBody::ours),
        };
        response.extensions_mut().insert(request);
        Poll::Ready(Ok(response))
    }
}

/// The handler's answer, unless it hides that a scope of the request was stopped.
fn answered<B: Body<Data = Bytes>>(
    mut exchange: Exchange,
    mut response: Response<B>,
    head_only: bool,
) -> Response<ResponseBody<B>> {
    if let Some(stop) = response.extensions_mut().remove::<Brief>() {
        let detail = exchange.enforces() && exchange.shared.policy.shows_detail();
        if let Some(detail) = detail.then(|| answer::detail(&stop)).flatten() {
            response.headers_mut().insert(DEADLINE_DETAIL, detail);
        }
        exchange.answered(&stop);
        return response.map(ResponseBody::free);
    }
    if exchange.enforces() {
        let catch_all =
            response.status().is_server_error() && !response.headers().contains_key(DEADLINE_CAUSE);
        if catch_all && let Some(stop) = hidden(&exchange) {
            return exchange.replaced(&stop).map(ResponseBody::ours);
        }
    }
    exchange.headed();
    if head_only || bodyless(&response) || response.body().is_end_stream() {
        exchange.finish();
        return response.map(ResponseBody::free);
    }
    let length = declared_length(&response);
    response.map(|body| ResponseBody::within(body, exchange, length))
}

/// The stop behind a server error: one that became an error somewhere in the request and has not been replaced by a
/// fallback. One that is long past was ignored, unless the request itself is over.
fn hidden(exchange: &Exchange) -> Option<Brief> {
    /// An error is on its way out for less than this.
    const AFTERMATH: Duration = Duration::from_millis(50);
    let last = exchange.cx.node()?.noted_stop();
    match (exchange.cx.cause(), last) {
        (Some(_), Some((stop, _))) => Some(stop),
        (Some(cause), None) => Some(exchange.of_request(cause)),
        (None, Some((stop, at))) => (Deadline::now().since(at) < AFTERMATH).then_some(stop),
        (None, None) => None,
    }
}

fn declared_length<B>(response: &Response<B>) -> Option<u64> {
    let value = response.headers().get(CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// Answers whose body no server reads, so that its end is never seen.
fn bodyless<B>(response: &Response<B>) -> bool {
    let status = response.status();
    status.is_informational() || matches!(status.as_u16(), 204 | 304)
}
