//! [`InboundBody`]: the body of an answer, inside the deadline of the call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::fault::{BoxError, boxed};
use super::outgoing::Call;
use crate::context::{Cancelled, Context};
use crate::stop::{Phase, Sent};

pin_project! {
    /// The body of an answer, inside the deadline of the call that brought it: also when it is read by somebody else, or
    /// after the function that called has returned.
    ///
    /// What is ready is kept; a body that lets us wait past the deadline ends with a [`Stopped`](crate::Stopped), phase
    /// `body`, and is dropped. Where nothing is enforced it is the body as it is.
    pub struct InboundBody<B> {
        #[pin]
        body: Option<B>,
        within: Option<Within>,
        begun: bool,
    }
}

struct Within {
    cx: Context,
    call: Call,
    is_grpc: bool,
    // Made when it is waited for: most bodies are there with their heads.
    cancelled: Option<Pin<Box<Cancelled>>>,
}

impl<B> InboundBody<B> {
    pub(in crate::http) fn new(body: B, cx: &Context, call: Call, is_grpc: bool) -> Self {
        let within = cx.mode().enforces() && !cx.is_none();
        Self {
            body: Some(body),
            within: within.then(|| Within {
                cx: cx.clone(),
                call,
                is_grpc,
                cancelled: None,
            }),
            begun: false,
        }
    }

    /// The body itself, without the deadline; `None` if it was cut.
    #[must_use]
    pub fn into_inner(self) -> Option<B> {
        self.body
    }
}

impl Within {
    /// Why it is over by now, if it is.
    fn stop(&self) -> Option<BoxError> {
        let cause = self.cx.cause()?;
        let stopped = self.call.stop(cause, Phase::Body).with_sent(Sent::Unknown);
        Some(boxed(stopped, self.is_grpc))
    }

    fn wait(&mut self, cx: &mut TaskContext<'_>) {
        let cancelled = self
            .cancelled
            .get_or_insert_with(|| Box::pin(self.cx.cancelled()));
        if cancelled.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }
}

impl<B> fmt::Debug for InboundBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InboundBody")
    }
}

impl<B> Body for InboundBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        // A source that is always ready must end as well.
        let over = this.within.as_ref().filter(|_| *this.begun);
        if let Some(stop) = over.and_then(Within::stop) {
            this.body.set(None);
            return Poll::Ready(Some(Err(stop)));
        }
        if let Poll::Ready(frame) = body.poll_frame(cx) {
            *this.begun = true;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(within) = this.within else {
            return Poll::Pending;
        };
        if let Some(stop) = within.stop() {
            this.body.set(None);
            return Poll::Ready(Some(Err(stop)));
        }
        within.wait(cx);
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        self.body.as_ref().map_or_else(none, Body::size_hint)
    }
}
