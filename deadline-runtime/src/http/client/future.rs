//! [`PropagateFuture`].

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use ::http::Response;
use pin_project_lite::pin_project;

use super::body::InboundBody;
use super::fault::{BoxError, boxed, is_timeout};
use super::outgoing::Call;
use super::warm::Warm;
use crate::context::Context;
use crate::scope::Run;
use crate::stop::{Cause, Phase, Sent, Stopped};

/// What is needed when the answer comes.
pub(super) struct Arrival {
    pub(super) cx: Context,
    pub(super) call: Call,
    pub(super) is_grpc: bool,
    pub(super) warm: Warm,
    pub(super) host: Option<Box<str>>,
}

pin_project! {
    /// The future of a [`PropagateDeadline`](super::PropagateDeadline).
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct PropagateFuture<F>
    where
        F: Future,
    {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F>
    where
        F: Future,
    {
        Refused { error: Option<BoxError> },
        Sent { #[pin] run: Run<F>, arrival: Arrival, polled: bool },
    }
}

impl<F: Future> PropagateFuture<F> {
    pub(super) fn refused(stopped: Stopped, is_grpc: bool) -> Self {
        let stopped = stopped.with_sent(Sent::NotSent);
        let state = State::Refused {
            error: Some(boxed(stopped, is_grpc)),
        };
        Self { state }
    }

    pub(super) const fn sent(run: Run<F>, arrival: Arrival) -> Self {
        let state = State::Sent {
            run,
            arrival,
            polled: false,
        };
        Self { state }
    }
}

impl<F, R, E> Future for PropagateFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<InboundBody<R>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Refused { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
            StateProj::Sent {
                run,
                arrival,
                polled,
            } => {
                let first = !std::mem::replace(polled, true);
                Poll::Ready(match ready!(run.poll(cx)) {
                    Ok(Ok(response)) => Ok(arrival.answered(response)),
                    Ok(Err(error)) => Err(arrival.failed(error.into())),
                    // Made, and awaited too late: the client was never asked.
                    Err(stopped) if first && stopped.phase() == Phase::Start => {
                        Err(boxed(stopped, arrival.is_grpc))
                    }
                    Err(stopped) => {
                        let stopped = stopped.in_phase(Phase::Response);
                        Err(boxed(stopped, arrival.is_grpc))
                    }
                })
            }
        }
    }
}

impl Arrival {
    fn answered<R>(&self, response: Response<R>) -> Response<InboundBody<R>> {
        if let Some(host) = &self.host {
            self.warm.answered(host);
        }
        response.map(|body| InboundBody::new(body, &self.cx, self.call, self.is_grpc))
    }

    /// The clock decides before the client does: at the deadline its own timer may be heard first.
    fn failed(&self, error: BoxError) -> BoxError {
        let ours = !self.cx.is_none() && self.cx.mode().enforces();
        let timeout = (ours && is_timeout(error.as_ref())).then_some(Cause::DependencyTimeout);
        let Some(cause) = self.cx.cause().or(timeout) else {
            return error;
        };
        let sent = Sent::of(error.as_ref());
        let stopped = self.call.stop(cause, Phase::Response).with_sent(sent);
        boxed(stopped.with_source(error), self.is_grpc)
    }
}
