//! [`Gated`]: an await of a future that knows nothing of deadlines.

use std::future::{Future, IntoFuture};
use std::panic::Location;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use crate::context::current;
use crate::figure::Budgeted;
use crate::fits::{Declares, Slot};
use crate::time::Deadline;

/// An awaited future. Annotated ones pass as they are, because they test the context themselves; all others get a gate.
#[derive(Debug)]
pub struct At<F>(pub F);

impl<F: Budgeted> At<F> {
    /// The future itself.
    #[inline(always)]
    pub fn deadline_gate(self) -> F {
        self.0
    }
}

impl<F: Budgeted<Budget: Declares>> At<F> {
    /// Notes in the call's slot what the future declares.
    #[must_use]
    #[inline(always)]
    pub fn deadline_counts(self, _: Slot<F::Budget>) -> Self {
        self
    }
}

/// The future itself, for whoever awaits it.
impl<F: IntoFuture> IntoFuture for At<F> {
    type Output = F::Output;
    type IntoFuture = F::IntoFuture;

    #[inline(always)]
    fn into_future(self) -> F::IntoFuture {
        self.0.into_future()
    }
}

/// The same for futures that are not annotated, or declare nothing that could be added up.
pub trait Leaf: Sized {
    /// The gated future.
    type Gated;
    /// Notes that nothing is declared.
    #[must_use]
    #[inline(always)]
    fn deadline_counts(self, _: Slot<()>) -> Self {
        self
    }
    /// Puts the gate around it.
    fn deadline_gate(self) -> Self::Gated;
}

impl<F: IntoFuture> Leaf for At<F> {
    type Gated = Gated<F::IntoFuture>;

    #[inline(always)]
    #[track_caller]
    fn deadline_gate(self) -> Gated<F::IntoFuture> {
        Gated {
            future: self.0.into_future(),
            location: Location::caller(),
            open: false,
        }
    }
}

/// Found for what is no future at all, so that rustc says of the value itself that it is none.
impl<F> Leaf for &At<F> {
    type Gated = Gated<F>;

    fn deadline_gate(self) -> Gated<F> {
        unreachable!("the program does not compile")
    }
}

pin_project! {
    /// Does not begin work that nobody has time for: in a scope that is stopped it stays pending without polling its
    /// future, and the scope then drops its body and makes the error.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Gated<F> {
        #[pin]
        future: F,
        location: &'static Location<'static>,
        open: bool,
    }
}

impl<F: Future> Future for Gated<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if !*this.open {
            if closed(this.location) {
                return Poll::Pending;
            }
            *this.open = true;
        }
        let polled = this.future.poll(cx);
        if polled.is_pending() {
            current::with(|frame| frame.seen.at = Some(this.location));
        }
        polled
    }
}

/// Whether the running scope is stopped.
#[inline(never)]
fn closed(location: &'static Location<'static>) -> bool {
    crate::trip::count();
    current::with(|frame| {
        let closed = frame.stopped(Deadline::now).is_some();
        if closed {
            frame.seen.at = Some(location);
        }
        closed
    })
    .unwrap_or(false)
}
