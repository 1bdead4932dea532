//! [`AdmittedFuture`]: a slot first, then the service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::{HeaderValue, Request, Response};
use bytes::Bytes;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::body::AdmittedBody;
use crate::admission::{Enter, Refused, Slot};
use crate::context::current;
use crate::http::answer::Answer;
use crate::http::grpc;

pin_project! {
    /// The future of an [`Admitted`](super::Admitted).
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct AdmittedFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        state: State<S, Request<B>, S::Future>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, R, F> {
        // What is in an option is always there; it is one so that it can be moved out of a pin.
        Entering { enter: Enter, call: Option<(S, R)>, grpc: Option<HeaderValue> },
        Readying { slot: Option<Slot>, service: S, request: Option<R> },
        Called { slot: Option<Slot>, #[pin] future: F },
    }
}

impl<S, B> AdmittedFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) fn new(enter: Enter, service: S, request: Request<B>) -> Self {
        let state = State::Entering {
            enter,
            grpc: grpc::asked_by(&request),
            call: Some((service, request)),
        };
        Self { state }
    }
}

impl<S, B, B2> Future for AdmittedFuture<S, B>
where
    S: Service<Request<B>, Response = Response<B2>>,
{
    type Output = Result<Response<AdmittedBody<B2>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProj::Entering { enter, call, grpc } => match ready!(enter.poll_enter(cx)) {
                    Ok(slot) => {
                        let Some((mut service, request)) = call.take() else {
                            return Poll::Pending;
                        };
                        let slot = Some(slot);
                        // Mostly it is ready.
                        let next = match service.poll_ready(cx)? {
                            Poll::Ready(()) => State::Called {
                                slot,
                                future: service.call(request),
                            },
                            Poll::Pending => State::Readying {
                                slot,
                                service,
                                request: Some(request),
                            },
                        };
                        let waits = matches!(next, State::Readying { .. });
                        this.state.set(next);
                        if waits {
                            return Poll::Pending;
                        }
                    }
                    Err(refused) => {
                        let answer = answer(&refused, grpc.take());
                        return Poll::Ready(Ok(answer.map(AdmittedBody::ours)));
                    }
                },
                StateProj::Readying {
                    slot,
                    service,
                    request,
                } => {
                    ready!(service.poll_ready(cx))?;
                    let Some(request) = request.take() else {
                        return Poll::Pending;
                    };
                    let next = State::Called {
                        slot: slot.take(),
                        future: service.call(request),
                    };
                    this.state.set(next);
                }
                StateProj::Called { slot, future } => {
                    let response = ready!(future.poll(cx))?;
                    let slot = slot.take();
                    return Poll::Ready(Ok(response.map(|body| AdmittedBody::held(body, slot))));
                }
            }
        }
    }
}

fn answer(refused: &Refused, grpc: Option<HeaderValue>) -> Response<Bytes> {
    let stop = refused.stopped.brief();
    let answer = Answer {
        request_id: current::with(|frame| frame.node().request_id()).flatten(),
        retry_after: refused.retry_after,
        grpc,
        ..Answer::default()
    };
    let mut response = answer.response(stop.cause);
    // For the deadline's layer, which makes the request's event and knows whether the caller may see details.
    response.extensions_mut().insert(stop);
    response
}
