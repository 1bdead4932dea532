//! [`Scoped`]: the future of an annotated function.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::drive::{Driven, Left};
use super::leave::{HandedOut, Held, Hold, Waiting};
use super::operation::Spec;
use super::state::State;
use crate::context::Context;
use crate::figure::{Budgeted, Figure};
use crate::stop::{FromStopped, Stopped};

pin_project! {
    /// A body under its budget. `B` is the budget as a type, `K` what a stop becomes.
    ///
    /// Body and state lie in it directly, and its end is a variant: every type around a body would be one more level
    /// of rustc's recursion limit, and an `Option` around it eight bytes more a level.
    #[project = Place]
    #[allow(missing_docs, reason = "not for use by hand")]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub enum Scoped<F, B, K = Carry>
    where
        F: Future,
        K: Keep,
    {
        /// The body is there; over as soon as the state is.
        Alive {
            state: State,
            on_stop: K,
            #[pin]
            body: F,
            budget: PhantomData<fn() -> B>,
        },
        /// The body is gone. As long as something waits, what it has spawned is being joined.
        Gone {
            waiting: WaitingOf<F, K>,
            on_stop: K,
        },
    }

    impl<F: Future, B, K: Keep> PinnedDrop for Scoped<F, B, K> {
        fn drop(mut this: Pin<&mut Self>) {
            let Place::Alive { state, .. } = this.as_mut().project() else {
                return;
            };
            if !state.is_over() {
                let state = state.take();
                state.abandoned(&mut || this.as_mut().drop_body());
            }
        }
    }
}

/// Boxed because it is rare: a scope that has no tasks is no larger for it.
type WaitingOf<F, K> = Option<Box<Waiting<<K as Keep>::Hold<<F as Future>::Output>>>>;

impl<F: Future, B, K: Keep> Scoped<F, B, K> {
    #[inline(always)]
    pub(super) fn of(state: State, on_stop: K, body: F) -> Self {
        Self::Alive {
            state,
            on_stop,
            body,
            budget: PhantomData,
        }
    }

    pub(super) fn state_mut(&mut self) -> Option<&mut State> {
        match self {
            Self::Alive { state, .. } => Some(state),
            Self::Gone { .. } => None,
        }
    }

    /// Both, while nobody has pinned it.
    #[cfg(feature = "http")]
    #[inline]
    pub(super) fn parts_mut(&mut self) -> Option<(&mut State, &mut F)> {
        let Self::Alive { state, body, .. } = self else {
            return None;
        };
        Some((state, body))
    }

    pub(super) fn pinned_state(self: Pin<&mut Self>) -> Option<&mut State> {
        match self.project() {
            Place::Alive { state, .. } => Some(state),
            Place::Gone { .. } => None,
        }
    }

    /// Polls the scope: the body's value or the stop, which is recorded as missing where something `missing` stands in.
    ///
    /// This is compiled anew for every function: it holds nothing that could be done without knowing the body.
    #[inline]
    pub(super) fn run(
        mut self: Pin<&mut Self>,
        missing: bool,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<F::Output, Stopped>> {
        let mut value = None;
        let driven = match self.as_mut().project() {
            Place::Alive { state, body, .. } => {
                let mut body = body;
                let holds = <K::Hold<F::Output> as Hold<F::Output>>::HOLDS;
                state.drive(holds, cx, &mut |cx| {
                    keep(body.as_mut().poll(cx), &mut value)
                })
            }
            Place::Gone { waiting, .. } => return join(waiting, cx),
        };
        if driven.is_plain() {
            return ready(value).map(Ok);
        }
        self.end(driven, &mut value, missing, cx)
    }

    /// An end that is more than a value.
    #[cold]
    fn end(
        mut self: Pin<&mut Self>,
        driven: Driven,
        value: &mut Option<F::Output>,
        missing: bool,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<F::Output, Stopped>> {
        let Place::Alive { state, .. } = self.as_mut().project() else {
            return Poll::Pending;
        };
        let state = state.take();
        let left = state.part(driven, missing, &mut || self.as_mut().drop_body());
        let waiting = match self.project() {
            Place::Gone { waiting, .. } => Some(waiting),
            Place::Alive { .. } => None,
        };
        settle(left, value, waiting, cx)
    }

    fn drop_body(mut self: Pin<&mut Self>) {
        if let Place::Alive { on_stop, .. } = self.as_mut().project() {
            let (waiting, on_stop) = (None, on_stop.take());
            self.set(Self::Gone { waiting, on_stop });
        }
    }
}

/// The body is gone: what becomes of it, once what it has spawned is joined.
fn settle<T, V: Hold<T>>(
    left: Left,
    value: &mut Option<T>,
    waiting: Option<&mut Option<Box<Waiting<V>>>>,
    cx: &mut task::Context<'_>,
) -> Poll<Result<T, Stopped>> {
    let Left { stopped, leave } = left;
    let ended = match (stopped, value.take().and_then(V::hold)) {
        (Some(stopped), _) => Err(stopped),
        (None, Some(value)) => Ok(value),
        (None, None) => return Poll::Pending,
    };
    let (Some(leave), Some(waiting)) = (leave, waiting) else {
        return Poll::Ready(ended.map(Hold::release));
    };
    *waiting = Some(Box::new(Waiting::new(leave, ended)));
    join(waiting, cx)
}

fn ready<T>(value: Option<T>) -> Poll<T> {
    match value {
        Some(value) => Poll::Ready(value),
        None => Poll::Pending,
    }
}

/// Keeps a value, and says whether there is one.
#[inline]
fn keep<T>(polled: Poll<T>, value: &mut Option<T>) -> bool {
    match polled {
        Poll::Ready(ready) => {
            *value = Some(ready);
            true
        }
        Poll::Pending => false,
    }
}

/// Waits for what a body that is gone has spawned. Polled after its end: nothing will ever come.
#[cold]
fn join<T, V: Hold<T>>(
    waiting: &mut Option<Box<Waiting<V>>>,
    cx: &mut task::Context<'_>,
) -> Poll<Result<T, Stopped>> {
    let Some(left) = waiting else {
        return Poll::Pending;
    };
    let value = std::task::ready!(left.poll(cx));
    *waiting = None;
    Poll::Ready(value.map(Hold::release))
}

/// What can be taken out before the body is dropped.
pub trait Keep {
    /// Where a value waits until what the scope has spawned is joined.
    type Hold<T>: Hold<T>;

    /// Takes it out.
    #[must_use]
    fn take(&mut self) -> Self;
}

impl Keep for Carry {
    type Hold<T> = HandedOut;

    #[inline]
    fn take(&mut self) -> Self {
        Self
    }
}

impl<S: Copy> Keep for CarryBy<S> {
    type Hold<T> = HandedOut;

    #[inline]
    fn take(&mut self) -> Self {
        Self(self.0)
    }
}

impl<K> Keep for Fallback<K> {
    type Hold<T> = HandedOut;

    #[inline]
    fn take(&mut self) -> Self {
        Self(self.0.take())
    }
}

/// As `K`, of a scope whose value may be sent to other threads and can therefore be held back until what the scope has
/// spawned is joined.
#[derive(Debug)]
pub struct Joining<K>(pub(super) K);

impl<K: Keep> Keep for Joining<K> {
    type Hold<T> = Held<T>;

    #[inline]
    fn take(&mut self) -> Self {
        Self(self.0.take())
    }
}

impl<T, K: OnStop<T>> OnStop<T> for Joining<K> {
    const MISSING: bool = K::MISSING;

    fn value(&mut self, stopped: Stopped) -> Option<T> {
        self.0.value(stopped)
    }
}

/// What a stop becomes in the return type `T`.
pub trait OnStop<T>: Keep {
    /// Whether what stands in for the value has to be recorded as missing.
    const MISSING: bool;
    /// The value of the stopped function; `None` the second time, if there is only one.
    fn value(&mut self, stopped: Stopped) -> Option<T>;
}

/// The return type carries the stop.
#[derive(Debug)]
pub struct Carry;

impl<T: FromStopped> OnStop<T> for Carry {
    const MISSING: bool = false;

    fn value(&mut self, stopped: Stopped) -> Option<T> {
        Some(T::from_stopped(stopped))
    }
}

/// The same by a conversion of the expansion's, which has no size. Only there is known what else demands it.
#[derive(Debug)]
pub struct CarryBy<S>(S);

impl<T, S: FnMut(Stopped) -> T + Copy> OnStop<T> for CarryBy<S> {
    const MISSING: bool = false;

    fn value(&mut self, stopped: Stopped) -> Option<T> {
        Some((self.0)(stopped))
    }
}

/// A value is returned instead, and recorded as missing.
#[derive(Debug)]
pub struct Fallback<K>(Option<K>);

impl<T, K: FnOnce(Stopped) -> T> OnStop<T> for Fallback<K> {
    const MISSING: bool = true;

    fn value(&mut self, stopped: Stopped) -> Option<T> {
        Some(self.0.take()?(stopped))
    }
}

/// A scope that has its context, and no body yet.
///
/// It comes first: a body that was made before would be copied over the call that looks for the context.
pub struct Here<B> {
    state: State,
    budget: PhantomData<fn() -> B>,
}

impl<B: Figure> Spec<B> {
    /// Captures the ambient context now; the budget starts at the first poll.
    #[inline(always)]
    #[must_use]
    pub fn here(&'static self) -> Here<B> {
        Here {
            state: State::ambient(&self.operation),
            budget: PhantomData,
        }
    }

    /// As `here`, under an explicit parent.
    #[inline(always)]
    #[must_use]
    pub fn under(&'static self, context: &Context) -> Here<B> {
        Here {
            state: State::below(&self.operation, context),
            budget: PhantomData,
        }
    }
}

// By hand, as in our tests. That the output carries a stop is asked for where this is used as a future.
impl<F: Future, B: Figure> Scoped<F, B> {
    /// A body in a scope.
    #[inline(always)]
    pub fn new(here: Here<B>, body: F) -> Self {
        Self::of(here.state, Carry, body)
    }
}

impl<F: Future, B: Figure, S: FnMut(Stopped) -> F::Output + Copy> Scoped<F, B, CarryBy<S>> {
    /// As `new`, with the conversion.
    #[inline(always)]
    pub fn carrying(here: Here<B>, body: F, stop: S) -> Self {
        Self::of(here.state, CarryBy(stop), body)
    }
}

impl<F: Future, B: Figure, K: OnStop<F::Output>> Scoped<F, B, K> {
    /// As `new`, with what a stop becomes.
    #[inline(always)]
    pub fn ending(here: Here<B>, body: F, on_stop: K) -> Self {
        Self::of(here.state, on_stop, body)
    }
}

/// Finds out whether values of this type may be sent to other threads, by which of two methods of one name there is.
pub struct Holds<T>(PhantomData<fn() -> T>);

impl<T> Holds<T> {
    /// Asks.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::new_without_default, reason = "part of the expansion")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Send> Holds<T> {
    /// They may: a value can wait until the tasks of its function are joined.
    #[inline(always)]
    pub fn deadline_carry<S: FnMut(Stopped) -> T + Copy>(self, stop: S) -> Joining<CarryBy<S>> {
        Joining(CarryBy(stop))
    }

    /// The same with a value to return when stopped.
    #[inline(always)]
    pub fn deadline_fall_back<K: FnOnce(Stopped) -> T>(self, value: K) -> Joining<Fallback<K>> {
        Joining(Fallback(Some(value)))
    }
}

/// They may not, or that cannot be known: it is handed out at once.
pub trait HandsOut<T>: Sized {
    /// What a stop becomes.
    fn deadline_carry<S: FnMut(Stopped) -> T + Copy>(self, stop: S) -> CarryBy<S>;

    /// The same with a value to return when stopped.
    fn deadline_fall_back<K: FnOnce(Stopped) -> T>(self, value: K) -> Fallback<K>;
}

impl<T> HandsOut<T> for Holds<T> {
    #[inline(always)]
    fn deadline_carry<S: FnMut(Stopped) -> T + Copy>(self, stop: S) -> CarryBy<S> {
        CarryBy(stop)
    }

    #[inline(always)]
    fn deadline_fall_back<K: FnOnce(Stopped) -> T>(self, value: K) -> Fallback<K> {
        Fallback(Some(value))
    }
}

impl<F: Future, B: Figure, K: FnOnce(Stopped) -> F::Output> Scoped<F, B, Fallback<K>> {
    /// As `new`, with a value to return when stopped.
    #[inline(always)]
    pub fn with_fallback(here: Here<B>, body: F, fallback: K) -> Self {
        Self::of(here.state, Fallback(Some(fallback)), body)
    }
}

impl<F, B, K> Future for Scoped<F, B, K>
where
    F: Future,
    K: OnStop<F::Output>,
{
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        match self.as_mut().run(K::MISSING, cx) {
            Poll::Ready(Ok(value)) => Poll::Ready(value),
            Poll::Ready(Err(stopped)) => match self.project() {
                Place::Gone { on_stop, .. } => ready(on_stop.value(stopped)),
                Place::Alive { .. } => Poll::Pending,
            },
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<F, B, K> Budgeted for Scoped<F, B, K>
where
    F: Future,
    B: Figure,
    K: OnStop<F::Output>,
{
    type Budget = B;
}
