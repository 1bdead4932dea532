//! [`PropagateFuture`].

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::scope::Run;
use crate::stop::{Phase, Stopped};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
        Refused { stopped: Option<Stopped> },
        Sent { #[pin] run: Run<F> },
    }
}

impl<F: Future> PropagateFuture<F> {
    pub(super) const fn refused(stopped: Stopped) -> Self {
        let state = State::Refused {
            stopped: Some(stopped),
        };
        Self { state }
    }

    pub(super) const fn sent(run: Run<F>) -> Self {
        let state = State::Sent { run };
        Self { state }
    }
}

impl<F, R, E> Future for PropagateFuture<F>
where
    F: Future<Output = Result<R, E>>,
    E: Into<BoxError>,
{
    type Output = Result<R, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Refused { stopped } => match stopped.take() {
                Some(stopped) => Poll::Ready(Err(stopped.into())),
                None => Poll::Pending,
            },
            StateProj::Sent { run } => Poll::Ready(match ready!(run.poll(cx)) {
                Ok(Ok(response)) => Ok(response),
                Ok(Err(error)) => Err(error.into()),
                Err(stopped) => Err(stopped.in_phase(Phase::Response).into()),
            }),
        }
    }
}
