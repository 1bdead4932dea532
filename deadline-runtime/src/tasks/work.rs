//! [`Work`]: the future of one spawned task.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{self, Poll, ready};

use pin_project_lite::pin_project;

use super::error::Payload;
use super::places::{Entry, Place, Turn};
use crate::scope::Attended;
use crate::stop::Stopped;

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

pin_project! {
    /// Runs a task's future as a scope, and delivers what came of it before it is joined.
    ///
    /// The fields are dropped in this order: what the task holds, its place, and last the ticket that says it still
    /// runs.
    pub(super) struct Work<F: Future, D, G> {
        #[pin]
        run: Option<Attended<F>>,
        turn: Option<Turn>,
        refused: Option<Stopped>,
        place: Option<Place>,
        deliver: Option<D>,
        ticket: G,
    }
}

impl<F: Future, D, G> Work<F, D, G> {
    /// `run` may be `None` only for one that is refused.
    pub(super) fn new(run: Option<Attended<F>>, entry: Entry, ticket: G, deliver: D) -> Self {
        let (place, turn, refused) = match entry {
            Entry::Now(place) => (Some(place), None, None),
            Entry::Later(turn) => (None, Some(turn), None),
            Entry::Refused(stopped) => (None, None, Some(stopped)),
        };
        Self {
            run,
            turn,
            refused,
            place,
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
        if let Some(turn) = this.turn {
            match ready!(turn.as_mut().poll(cx)) {
                Ok(place) => *this.place = Some(place),
                Err(stopped) => *this.refused = Some(stopped),
            }
            *this.turn = None;
        }
        let polled = match (this.refused.take(), this.run.as_mut().as_pin_mut()) {
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
