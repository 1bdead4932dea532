//! [`Gate`]: an await in a scope.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use crate::context::current;
use crate::figure::Budgeted;
use crate::fits::{Counts, Slot};
use crate::time::Deadline;

/// A value whose meaning depends on its type.
///
/// An awaited future is one: an annotated one has the method that passes it on, because it tests the context itself, and
/// [`Gates`] puts a gate in front of any other. A method of the type comes before one of a trait, so that the compiler has
/// decided as soon as it has looked; and an annotated future is awaited as it is, since a wrapper around each would cost a chain
/// of calls every fifth of its levels under rustc's recursion limit. The names are long, so that no trait of the user's has them.
#[derive(Debug)]
pub struct At<T>(pub T);

impl<F: Budgeted> At<F> {
    /// Annotated. Notes in the call's slot what it declares.
    #[inline]
    pub fn __deadline_gate<C, D>(self, _: Slot<C, D>) -> F
    where
        F: Counts<C, Figure = D>,
    {
        self.0
    }

    /// The same where nothing is counted.
    #[inline]
    pub fn __deadline_gate_alone(self) -> F {
        self.0
    }
}

/// Futures that are not annotated: they declare nothing.
pub trait Gates<F> {
    /// Puts a gate in front.
    fn __deadline_gate(self, _: Slot<u8, ()>) -> Gated<F>;

    /// The same where nothing is counted.
    fn __deadline_gate_alone(self) -> Gated<F>;
}

impl<F> Gates<F> for At<F> {
    #[inline]
    #[track_caller]
    fn __deadline_gate(self, _: Slot<u8, ()>) -> Gated<F> {
        self.0.meets(Location::caller())
    }

    #[inline]
    #[track_caller]
    fn __deadline_gate_alone(self) -> Gated<F> {
        self.0.meets(Location::caller())
    }
}

/// A gate for a future whose type may be known only behind the await, by a literal whose type is found then. It is wrapped,
/// so that what it yields is known.
#[inline]
#[track_caller]
pub fn gate_later<F, M, C, D>(_: Slot<C, D>, future: F, _: M) -> Later<F, M>
where
    F: Meets<M> + Counts<C, Figure = D>,
{
    Later {
        future,
        location: Location::caller(),
        met: PhantomData,
    }
}

/// Awaited expressions that meet a stop in the way `M`.
pub trait Meets<M>: Sized {
    /// What is awaited.
    type Gated;
    #[doc(hidden)]
    fn meets(self, location: &'static Location<'static>) -> Self::Gated;
}

/// Any future may be kept from its begin.
impl<F> Meets<u8> for F {
    type Gated = Gated<F>;

    #[inline]
    fn meets(self, location: &'static Location<'static>) -> Gated<F> {
        Gated {
            future: self,
            location,
        }
    }
}

/// Annotated ones pass, because they test the context themselves.
impl<F: Budgeted> Meets<i32> for F {
    type Gated = F;

    #[inline]
    fn meets(self, _: &'static Location<'static>) -> F {
        self
    }
}

/// An expression in front of its `.await`. That it is a future is asked for there alone, so that rustc says it once.
#[must_use = "futures do nothing unless you `.await` or poll them"]
#[derive(Debug)]
pub struct Gated<F> {
    future: F,
    location: &'static Location<'static>,
}

impl<F: IntoFuture> IntoFuture for Gated<F> {
    type Output = F::Output;
    type IntoFuture = Gate<F::IntoFuture>;

    #[inline]
    fn into_future(self) -> Self::IntoFuture {
        Gate {
            future: self.future.into_future(),
            location: self.location,
            open: false,
        }
    }
}

/// The same before it is known how it meets a stop.
#[must_use = "futures do nothing unless you `.await` or poll them"]
#[derive(Debug)]
pub struct Later<F, M> {
    future: F,
    location: &'static Location<'static>,
    met: PhantomData<fn() -> M>,
}

impl<F, M> IntoFuture for Later<F, M>
where
    F: IntoFuture + Meets<M>,
    F::Gated: IntoFuture<Output = F::Output>,
{
    type Output = F::Output;
    type IntoFuture = Known<<F::Gated as IntoFuture>::IntoFuture, F::Output>;

    #[inline]
    fn into_future(self) -> Self::IntoFuture {
        Known {
            future: self.future.meets(self.location).into_future(),
            yields: PhantomData,
        }
    }
}

pin_project! {
    /// Yields a `T`, whatever it is.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Known<G, T> {
        #[pin]
        future: G,
        yields: PhantomData<fn() -> T>,
    }
}

impl<T, G: Future<Output = T>> Future for Known<G, T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<T> {
        self.project().future.poll(cx)
    }
}

pin_project! {
    /// Does not begin work that nobody has time for: in a scope that is stopped it stays pending without polling its
    /// future, and the scope then drops its body and makes the error.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Gate<F> {
        #[pin]
        future: F,
        location: &'static Location<'static>,
        open: bool,
    }
}

impl<F: Future> Future for Gate<F> {
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
            pending(this.location);
        }
        polled
    }
}

/// Whether the running scope is stopped. What the clock said counts until the end of this poll: should the awaited future
/// be pending then, the scope need not read it again, because it is woken when it is over in any case.
#[inline(never)]
fn closed(location: &'static Location<'static>) -> bool {
    crate::trip::count();
    current::of_scope(|frame| {
        // Mostly only the clock has to be looked at.
        let mut now = None;
        let closed = if let Some(soft) = frame.ends_by_clock() {
            soft <= *now.insert(Deadline::now())
        } else {
            frame.stopped(|| *now.insert(Deadline::now())).is_some()
        };
        if closed {
            frame.seen.at = Some(location);
        }
        frame.seen.now = now.or(frame.seen.now);
        closed
    })
    .unwrap_or(false)
}

#[inline(never)]
fn pending(location: &'static Location<'static>) {
    current::of_scope(|frame| frame.seen.at = Some(location));
}
