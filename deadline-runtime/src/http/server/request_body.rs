//! [`RequestBody`].

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::progress::{Progress, Stage};

pin_project! {
    /// The body of a request, observed: a deadline that passes while the handler waits for more of it is the client's
    /// slowness and answered 408.
    #[derive(Debug)]
    pub struct RequestBody<B> {
        #[pin]
        inner: B,
        progress: Progress,
    }
}

impl<B> RequestBody<B> {
    pub(super) fn new(inner: B, progress: Progress) -> Self {
        Self { inner, progress }
    }

    /// The body itself.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.inner
    }
}

impl<B: Body> Body for RequestBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let polled = this.inner.poll_frame(cx);
        this.progress.enter(if polled.is_pending() {
            Stage::RequestBody
        } else {
            Stage::Handler
        });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
