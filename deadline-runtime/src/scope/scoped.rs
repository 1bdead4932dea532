//! [`Scoped`]: the future of an annotated function.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::checkpoint::missed_by;
use super::leave::{HandedOut, Held, Hold, Waiting};
use super::life::{Dropped, Dropping, Next, Running};
use super::operation::Spec;
use super::state::{Flag, State};
use crate::context::Context;
use crate::context::current::Inherited;
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
        /// Not over yet.
        Alive {
            state: State,
            on_stop: K,
            #[pin]
            body: F,
            budget: PhantomData<fn() -> B>,
        },
        /// The body is gone, and what it has spawned is being joined.
        Leaving {
            waiting: WaitingOf<F, K>,
            on_stop: K,
        },
        /// Polled to its end.
        Over,
    }

    impl<F: Future, B, K: Keep> PinnedDrop for Scoped<F, B, K> {
        fn drop(mut this: Pin<&mut Self>) {
            let state = match this.as_mut().project() {
                Place::Alive { state, .. } => state,
                Place::Leaving { waiting, .. } => {
                    if let Some(waiting) = waiting {
                        waiting.leave.dropped();
                    }
                    return;
                }
                Place::Over => return,
            };
            match state.dropped() {
                // Its end has been seen to.
                Dropped::Over => {}
                // The body goes first: where that is the last of a scope, it is seen as such.
                Dropped::Unbegun => {
                    let mut state = state.take();
                    this.set(Scoped::Over);
                    state.dropped_before_its_start();
                }
                // Destructors see the context, and log inside it.
                Dropped::Running => {
                    let mut state = state.take();
                    let mut running = Running::again(&mut state);
                    this.set(Scoped::Over);
                    let also = running.leave();
                    drop(running);
                    state.dropped_from_outside(also.as_ref());
                }
            }
        }
    }
}

/// The body's value or the stop.
pub(super) type Output<F> = Result<<F as Future>::Output, Stopped>;

/// Boxed because it is rare: a scope that has no tasks is no larger for it. An option so that it can be taken out; it is
/// always there.
type WaitingOf<F, K> = Option<Box<Waiting<<K as Keep>::Hold<<F as Future>::Output>>>>;

/// What is left of a scope when its body is gone.
pub(super) struct Remains<K> {
    pub(super) state: State,
    on_stop: K,
}

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
            Self::Leaving { .. } | Self::Over => None,
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
            Place::Leaving { .. } | Place::Over => None,
        }
    }
}

impl<F: Future, B, K: Keep> Scoped<F, B, K> {
    /// Polls the scope: the body's value or the stop.
    #[inline]
    pub(super) fn run(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
    ) -> Poll<(Output<F>, Remains<K>)> {
        let (value, mut state, on_stop) = loop {
            let (state, on_stop, body) = match self.as_mut().project() {
                Place::Alive {
                    state,
                    on_stop,
                    body,
                    ..
                } => (state, on_stop, body),
                Place::Leaving { .. } => return self.join(cx),
                // Polled after its end: nothing will ever come.
                Place::Over => return Poll::Pending,
            };
            match state.begin(cx.waker()) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(stopped)) => {
                    let (state, on_stop) = (state.take(), on_stop.take());
                    self.set(Self::Over);
                    return Poll::Ready((Err(stopped), Remains { state, on_stop }));
                }
                Poll::Pending => return Poll::Pending,
            }
            let running = Running::begun(state);
            if let Poll::Ready(value) = body.poll(cx) {
                drop(running);
                break (Ok(value), state.take(), on_stop.take());
            }
            match running.pending(cx) {
                Next::Wait => return Poll::Pending,
                Next::Again => {}
                Next::End(stopped) => break (Err(stopped), state.take(), on_stop.take()),
            }
        };
        {
            // Destructors of a stopped body see the context.
            let dropping = value.is_err().then(|| Dropping::of(&mut state));
            self.set(Self::Over);
            if let Some(dropping) = dropping {
                dropping.done();
            }
        }
        if value.is_ok() {
            state.completed();
        }
        if state.has_tasks() {
            let held = match value {
                Ok(value) => K::Hold::hold(value).map(Ok),
                Err(stopped) => Ok(Err(stopped)),
            };
            match held {
                Ok(value) => {
                    let waiting = Some(Box::new(Waiting::new(state, value)));
                    self.set(Self::Leaving { waiting, on_stop });
                    return self.join(cx);
                }
                Err(value) => {
                    state.gone(false);
                    return Poll::Ready((Ok(value), Remains { state, on_stop }));
                }
            }
        }
        state.gone(value.is_err());
        Poll::Ready((value, Remains { state, on_stop }))
    }

    /// The body is gone: waits for what it has spawned.
    #[cold]
    fn join(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<(Output<F>, Remains<K>)> {
        let Place::Leaving { waiting, on_stop } = self.as_mut().project() else {
            return Poll::Pending;
        };
        let joined = waiting.as_mut().map(|waiting| waiting.leave.poll(cx));
        if joined.is_none_or(|joined| joined.is_pending()) {
            return Poll::Pending;
        }
        let (left, on_stop) = (waiting.take(), on_stop.take());
        self.set(Self::Over);
        let Some(left) = left else {
            return Poll::Pending;
        };
        let (state, value) = left.done();
        Poll::Ready((value.map(Hold::release), Remains { state, on_stop }))
    }
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

/// An explicit parent, captured before the body takes the context over.
pub struct Parent(Option<Inherited>);

impl Parent {
    /// The parent that `context` is.
    #[must_use]
    pub fn of(context: &Context) -> Self {
        Self(context.inherited())
    }
}

// By hand, as in our tests. That the output carries a stop is asked for where this is used as a future.
impl<F: Future, B: Figure> Scoped<F, B> {
    /// Captures the ambient context now; the budget starts at the first poll.
    #[inline(always)]
    pub fn new(spec: &'static Spec<B>, body: F) -> Self {
        let state = State::ambient(&spec.operation);
        Self::of(state, Carry, body)
    }

    /// As `new`, under an explicit parent.
    #[inline(always)]
    pub fn under(parent: Parent, spec: &'static Spec<B>, body: F) -> Self {
        let state = explicit(parent, spec);
        Self::of(state, Carry, body)
    }
}

impl<F: Future, B: Figure, S: FnMut(Stopped) -> F::Output + Copy> Scoped<F, B, CarryBy<S>> {
    /// As `new`, with the conversion.
    #[inline(always)]
    pub fn carrying(spec: &'static Spec<B>, body: F, stop: S) -> Self {
        let state = State::ambient(&spec.operation);
        Self::of(state, CarryBy(stop), body)
    }

    /// As `carrying`, under an explicit parent.
    #[inline(always)]
    pub fn carrying_under(parent: Parent, spec: &'static Spec<B>, body: F, stop: S) -> Self {
        let state = explicit(parent, spec);
        Self::of(state, CarryBy(stop), body)
    }
}

impl<F: Future, B: Figure, K: OnStop<F::Output>> Scoped<F, B, K> {
    /// As `new`, with what a stop becomes.
    #[inline(always)]
    pub fn ending(spec: &'static Spec<B>, body: F, on_stop: K) -> Self {
        let state = State::ambient(&spec.operation);
        Self::of(state, on_stop, body)
    }

    /// As `ending`, under an explicit parent.
    #[inline(always)]
    pub fn ending_under(parent: Parent, spec: &'static Spec<B>, body: F, on_stop: K) -> Self {
        let state = explicit(parent, spec);
        Self::of(state, on_stop, body)
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
    pub fn with_fallback(spec: &'static Spec<B>, body: F, fallback: K) -> Self {
        let state = State::ambient(&spec.operation);
        Self::of(state, Fallback(Some(fallback)), body)
    }

    /// As `with_fallback`, under an explicit parent.
    #[inline(always)]
    pub fn with_fallback_under(
        parent: Parent,
        spec: &'static Spec<B>,
        body: F,
        fallback: K,
    ) -> Self {
        let state = explicit(parent, spec);
        Self::of(state, Fallback(Some(fallback)), body)
    }
}

fn explicit<B>(parent: Parent, spec: &'static Spec<B>) -> State {
    let none = parent.0.is_none();
    let mut state = State::under(Some(&spec.operation), parent.0);
    state.flags.set(Flag::Explicit, true);
    // `Context::none()` is asked for by work that must not end with whoever happens to poll it.
    state.flags.set(Flag::Replaces, none);
    state
}

impl<F, B, K> Future for Scoped<F, B, K>
where
    F: Future,
    K: OnStop<F::Output>,
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let Poll::Ready((value, mut remains)) = self.run(cx) else {
            return Poll::Pending;
        };
        match value {
            Ok(value) => Poll::Ready(value),
            Err(stopped) => {
                if K::MISSING {
                    missed_by(&stopped, &remains.state);
                }
                match remains.on_stop.value(stopped) {
                    Some(value) => Poll::Ready(value),
                    None => Poll::Pending,
                }
            }
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
