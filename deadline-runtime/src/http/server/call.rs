//! [`Call`]: the inner service, made ready and called inside the deadline.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::Request;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::progress::{Progress, Stage};
use super::request_body::RequestBody;

pin_project! {
    pub(super) struct Call<S, B>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        progress: Progress,
        #[pin]
        state: State<S, Request<B>, S::Future>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, R, F> {
        // The request is always there; it is an option so that it can be moved out of a pin.
        Waiting { service: S, request: Option<R> },
        Called { #[pin] future: F },
    }
}

impl<S, B> Call<S, B>
where
    S: Service<Request<RequestBody<B>>>,
{
    // A call would move the request once more.
    #[inline(always)]
    pub(super) fn new(service: S, request: Request<B>) -> Self {
        Self {
            progress: Progress::default(),
            state: State::Waiting {
                service,
                request: Some(request),
            },
        }
    }
}

impl<S, B> Call<S, B>
where
    S: Service<Request<RequestBody<B>>>,
{
    /// The request that waits, and where its progress is written.
    #[inline]
    pub(super) fn waiting(&mut self) -> Option<(&mut Request<B>, &mut Progress)> {
        match &mut self.state {
            State::Waiting { request, .. } => Some((request.as_mut()?, &mut self.progress)),
            State::Called { .. } => None,
        }
    }
}

impl<S, B> Future for Call<S, B>
where
    S: Service<Request<RequestBody<B>>>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProj::Waiting { service, request } => {
                    this.progress.enter(Stage::Queue);
                    ready!(service.poll_ready(cx))?;
                    let Some(request) = request.take() else {
                        return Poll::Pending;
                    };
                    this.progress.enter(Stage::Handler);
                    let observed = |body| RequestBody::new(body, this.progress.clone());
                    let future = service.call(request.map(observed));
                    this.state.set(State::Called { future });
                }
                StateProj::Called { future } => {
                    // Said anew at every poll: a handler that no longer waits for its body does not reset it.
                    this.progress.enter(Stage::Handler);
                    return future.poll(cx);
                }
            }
        }
    }
}
