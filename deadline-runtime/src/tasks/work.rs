//! [`Work`]: the future of one spawned task.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use pin_project_lite::pin_project;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Payload;
use crate::context::Context;
use crate::scope::{Attended, Run};
use crate::stop::{Phase, Stopped};

/// What a task came to.
pub(super) enum Outcome<T> {
    Value(T),
    Stopped(Stopped),
    Panicked(Payload),
}

/// The same for whoever joins it, who knows nothing of its type.
pub(super) enum End {
    Finished,
    Stopped,
    /// With the payload, unless somebody else has been given it.
    Panicked(Option<Payload>),
}

/// Waiting for a place among the tasks that may run at once.
pub(super) type Turn =
    Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, Stopped>> + Send + 'static>>;

/// A turn under the task's own context: whoever is stopped in the queue never begins.
pub(super) fn turn(context: &Context, places: Arc<Semaphore>) -> Turn {
    let acquired = Run::new(context.node().cloned(), false, async move {
        match places.acquire_owned().await {
            Ok(permit) => permit,
            // Nobody closes it; if somebody did, there would be no place for good.
            Err(_) => std::future::pending().await,
        }
    });
    Box::pin(async move {
        acquired
            .await
            .map_err(|stopped| stopped.in_phase(Phase::Queue))
    })
}

pin_project! {
    /// Runs a task's future as a scope, and delivers what came of it before it is joined.
    ///
    /// The fields are dropped in this order: what the task holds, its place, and last the ticket that says it still
    /// runs.
    pub(super) struct Work<F: Future, D, G> {
        #[pin]
        run: Option<Attended<F>>,
        turn: Option<Turn>,
        place: Option<OwnedSemaphorePermit>,
        deliver: Option<D>,
        ticket: G,
    }
}

impl<F: Future, D, G> Work<F, D, G> {
    pub(super) fn new(run: Attended<F>, turn: Option<Turn>, ticket: G, deliver: D) -> Self {
        Self {
            run: Some(run),
            turn,
            place: None,
            deliver: Some(deliver),
            ticket,
        }
    }
}

impl<F, D, G> Future for Work<F, D, G>
where
    F: Future,
    D: FnOnce(Outcome<F::Output>) -> End,
{
    type Output = End;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<End> {
        let mut this = self.project();
        let mut refused = None;
        if let Some(turn) = this.turn {
            match ready!(turn.as_mut().poll(cx)) {
                Ok(permit) => *this.place = Some(permit),
                Err(stopped) => refused = Some(stopped),
            }
            *this.turn = None;
        }
        let polled = match (refused, this.run.as_mut().as_pin_mut()) {
            (Some(stopped), _) => Ok(Err(stopped)),
            (None, Some(run)) => match catch_unwind(AssertUnwindSafe(|| run.poll(cx))) {
                Ok(polled) => Ok(ready!(polled)),
                Err(payload) => Err(payload),
            },
            (None, None) => return Poll::Pending,
        };
        // What the task holds goes before anybody learns that it is over.
        let dropped = catch_unwind(AssertUnwindSafe(|| this.run.set(None)));
        *this.place = None;
        let outcome = match (polled, dropped) {
            (Err(payload), _) | (Ok(_), Err(payload)) => Outcome::Panicked(payload),
            (Ok(Ok(value)), Ok(())) => Outcome::Value(value),
            (Ok(Err(stopped)), Ok(())) => Outcome::Stopped(stopped),
        };
        match this.deliver.take() {
            Some(deliver) => Poll::Ready(deliver(outcome)),
            None => Poll::Pending,
        }
    }
}
