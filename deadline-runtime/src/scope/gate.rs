//! [`Gate`]: an await in a scope.

use std::future::{Future, IntoFuture};
use std::panic::Location;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use crate::context::current;
use crate::figure::Budgeted;
use crate::fits::{Counts, Slot};
use crate::time::Deadline;

/// A value whose meaning depends on its type.
#[derive(Debug)]
pub struct At<T>(pub T);

/// Puts the gate in front of an awaited future, and notes in the call's slot what it declares.
///
/// That it is a future is asked for by the `.await` alone, so that rustc says there, and once, of the value that it is none.
#[inline(always)]
#[track_caller]
pub fn gate<F, M, C, D>(_: Slot<M, C, D>, future: F) -> Gated<F, M>
where
    F: Meets<M> + Counts<C, Figure = D>,
    M: Mode,
{
    Gated {
        future,
        state: M::enter(Location::caller()),
    }
}

/// An expression in front of its `.await`.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Gated<F, M: Mode> {
    future: F,
    state: M::State,
}

impl<F: IntoFuture, M: Mode> IntoFuture for Gated<F, M> {
    type Output = F::Output;
    type IntoFuture = Gate<F::IntoFuture, M>;

    #[inline(always)]
    fn into_future(self) -> Self::IntoFuture {
        Gate {
            future: self.future.into_future(),
            state: self.state,
        }
    }
}

/// Futures that meet a stop in the way `M`.
pub trait Meets<M> {}

/// Any future may be kept from its begin.
impl<F> Meets<u8> for F {}

/// Annotated ones pass, because they test the context themselves.
impl<F: Budgeted> Meets<i32> for F {}

/// How an await meets a stop.
pub trait Mode {
    /// What has to be remembered for it.
    type State;
    #[doc(hidden)]
    fn enter(location: &'static Location<'static>) -> Self::State;
    #[doc(hidden)]
    fn is_closed(state: &mut Self::State) -> bool;
    #[doc(hidden)]
    fn waits(state: &Self::State);
}

impl Mode for i32 {
    type State = ();

    #[inline(always)]
    fn enter(_: &'static Location<'static>) {}

    #[inline(always)]
    fn is_closed((): &mut ()) -> bool {
        false
    }

    #[inline(always)]
    fn waits((): &()) {}
}

impl Mode for u8 {
    type State = Leaf;

    #[inline(always)]
    fn enter(location: &'static Location<'static>) -> Leaf {
        Leaf {
            location,
            open: false,
        }
    }

    #[inline]
    fn is_closed(leaf: &mut Leaf) -> bool {
        leaf.open = leaf.open || !closed(leaf.location);
        !leaf.open
    }

    #[inline]
    fn waits(leaf: &Leaf) {
        current::with(|frame| frame.seen.at = Some(leaf.location));
    }
}

/// An await of a future that knows nothing of deadlines.
#[derive(Debug)]
pub struct Leaf {
    location: &'static Location<'static>,
    open: bool,
}

pin_project! {
    /// Does not begin work that nobody has time for: in a scope that is stopped a leaf stays pending without being
    /// polled, and the scope then drops its body and makes the error.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Gate<F, M: Mode> {
        #[pin]
        future: F,
        state: M::State,
    }
}

impl<F: Future, M: Mode> Future for Gate<F, M> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if M::is_closed(this.state) {
            return Poll::Pending;
        }
        let polled = this.future.poll(cx);
        if polled.is_pending() {
            M::waits(this.state);
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
