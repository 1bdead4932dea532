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

use super::call::Call;
use super::ending::Ending;
use super::exchange::Exchange;
use super::layer::Shared;
use super::progress::Progress;
use super::received::{Received, Refusal};
use super::request_body::RequestBody;
use super::response_body::ResponseBody;
use crate::http::header::{DEADLINE_CAUSE, DEADLINE_DETAIL};
use crate::http::{answer, grpc};
use crate::scope::Run;
use crate::stop::Brief;
use crate::time::Deadline;

/// More than one for each scope of the request that may want a turn of the scheduler before it ends.
const TURNS: usize = 16;

pin_project! {
    /// The future of a [`DeadlineService`](super::DeadlineService): the inner service's answer, or ours.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ResponseFuture<S, B>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        // Dropped before the run, so that the run finds the cause recorded.
        exchange: Option<Exchange>,
        refused: Option<Box<Refusal>>,
        head_only: bool,
        #[pin]
        run: Run<Call<S, B>>,
    }
}

impl<S, B> ResponseFuture<S, B>
where
    S: Service<Request<RequestBody<B>>>,
{
    #[inline]
    pub(super) fn start(shared: &Arc<Shared>, service: S, request: Request<B>) -> Self {
        // The request is put where it stays before its head is read: to move it is what a call costs most.
        let mut this = Self {
            exchange: None,
            refused: None,
            head_only: false,
            run: Run::later(Call::new(service, request)),
        };
        let (exchange, refused) = (&mut this.exchange, &mut this.refused);
        let head_only = &mut this.head_only;
        this.run.make_quiet(|call| {
            let (request, progress) = call.waiting()?;
            let received = Received::of(shared, request);
            *progress = Progress::of(&received.exchange.cx);
            *head_only = request.method() == Method::HEAD;
            *refused = received.refused;
            exchange.insert(received.exchange).cx.node().cloned()
        });
        this
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
        let mut this = self.project();
        if let Some(refusal) = this.refused.take()
            && let Some(exchange) = this.exchange.take()
        {
            return Poll::Ready(Ok(exchange.refused(*refusal).map(ResponseBody::ours)));
        }
        let polling = |exchange: &mut Option<Exchange>, polling| {
            if let Some(exchange) = exchange {
                exchange.polling = polling;
            }
        };
        polling(this.exchange, true);
        let mut ended = this.run.as_mut().poll(cx);
        for _ in 0..TURNS {
            if ended.is_ready() || !this.exchange.as_ref().is_some_and(Exchange::is_past_grpc) {
                break;
            }
            ended = this.run.as_mut().poll(cx);
        }
        polling(this.exchange, false);
        let ended = ready!(ended);
        let Some(mut exchange) = this.exchange.take() else {
            return Poll::Pending;
        };
        Poll::Ready(match ended {
            Ok(Ok(response)) => Ok(answered(exchange, response, *this.head_only)),
            Ok(Err(error)) => {
                exchange.headed();
                exchange.finish();
                Err(error)
            }
            Err(stopped) => {
                let request = exchange.cx.clone();
                let response = exchange.stopped(stopped.brief());
                Ok(naming(request, response.map(ResponseBody::ours)))
            }
        })
    }
}

/// The handler's answer, unless it hides that a scope of the request was stopped. With it goes the context, for layers
/// further out: which request it was and how it went.
fn answered<B: Body<Data = Bytes>>(
    mut exchange: Exchange,
    mut response: Response<B>,
    head_only: bool,
) -> Response<ResponseBody<B>> {
    if let Some(stop) = own_stop(&exchange, &mut response) {
        let detail = exchange.enforces() && exchange.shared.policy.shows_detail();
        if let Some(detail) = detail.then(|| answer::detail(&stop)).flatten() {
            response.headers_mut().insert(DEADLINE_DETAIL, detail);
        }
        let request = exchange.cx.clone();
        exchange.answered(&stop);
        return naming(request, response.map(ResponseBody::free));
    }
    if exchange.enforces() {
        let catch_all =
            is_catch_all(&exchange, &response) && !response.headers().contains_key(DEADLINE_CAUSE);
        if catch_all && let Some(stop) = hidden(&exchange) {
            let request = exchange.cx.clone();
            return naming(request, exchange.replaced(&stop).map(ResponseBody::ours));
        }
    }
    exchange.headed();
    if head_only || bodyless(&response) || response.body().is_end_stream() {
        let request = exchange.cx.clone();
        exchange.finish();
        return naming(request, response.map(ResponseBody::free));
    }
    let length = response.body().size_hint().exact();
    let length = length.or_else(|| declared_length(&response));
    let ending = Ending::of(&mut exchange, &response);
    // That of a stream is another than that of its head.
    response.extensions_mut().insert(exchange.cx.clone());
    response.map(|body| ResponseBody::within(body, exchange, ending, length))
}

fn naming<B>(
    request: crate::Context,
    mut response: Response<ResponseBody<B>>,
) -> Response<ResponseBody<B>> {
    response.extensions_mut().insert(request);
    response
}

/// The stop that the handler itself has made its answer.
fn own_stop<B>(exchange: &Exchange, response: &mut Response<B>) -> Option<Brief> {
    let named = response.extensions_mut().remove::<Brief>();
    if named.is_some() || !exchange.is_grpc {
        return named;
    }
    // A gRPC status comes as headers only: it is ours if it names the cause of a stop that this request has had.
    let word = response.headers().get(DEADLINE_CAUSE)?;
    hidden(exchange).filter(|stop| word == stop.cause.as_str())
}

/// Whether it says what a service says that knows only one way to fail.
fn is_catch_all<B>(exchange: &Exchange, response: &Response<B>) -> bool {
    if exchange.is_grpc {
        grpc::status_of(response.headers()).is_some_and(grpc::is_catch_all)
    } else {
        response.status().is_server_error()
    }
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
