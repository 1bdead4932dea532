//! [`Scoped`]: the future of an annotated function.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::checkpoint::missed_by;
use super::life::{Life, State};
use super::operation::Spec;
use crate::context::Context;
use crate::context::current::Inherited;
use crate::figure::{Budgeted, Figure};
use crate::stop::{FromStopped, Stopped};

pin_project! {
    /// A body under its budget. `B` is the budget as a type, `K` what a stop becomes.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Scoped<F, B, K = Carry> {
        #[pin]
        life: Life<F>,
        on_stop: K,
        budget: PhantomData<fn() -> B>,
    }
}

/// What a stop becomes in the return type `T`.
pub trait OnStop<T> {
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

impl<T, S: FnMut(Stopped) -> T> OnStop<T> for CarryBy<S> {
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
        Self {
            life: Life::new(state, body),
            on_stop: Carry,
            budget: PhantomData,
        }
    }

    /// As `new`, under an explicit parent.
    #[inline(always)]
    pub fn under(parent: Parent, spec: &'static Spec<B>, body: F) -> Self {
        let state = explicit(parent, spec);
        Self {
            life: Life::new(state, body),
            on_stop: Carry,
            budget: PhantomData,
        }
    }
}

impl<F: Future, B: Figure, S: FnMut(Stopped) -> F::Output> Scoped<F, B, CarryBy<S>> {
    /// As `new`, with the conversion.
    #[inline(always)]
    pub fn carrying(spec: &'static Spec<B>, body: F, stop: S) -> Self {
        let state = State::ambient(&spec.operation);
        Self {
            life: Life::new(state, body),
            on_stop: CarryBy(stop),
            budget: PhantomData,
        }
    }

    /// As `carrying`, under an explicit parent.
    #[inline(always)]
    pub fn carrying_under(parent: Parent, spec: &'static Spec<B>, body: F, stop: S) -> Self {
        let state = explicit(parent, spec);
        Self {
            life: Life::new(state, body),
            on_stop: CarryBy(stop),
            budget: PhantomData,
        }
    }
}

impl<F: Future, B: Figure, K: FnOnce(Stopped) -> F::Output> Scoped<F, B, Fallback<K>> {
    /// As `new`, with a value to return when stopped.
    #[inline(always)]
    pub fn with_fallback(spec: &'static Spec<B>, body: F, fallback: K) -> Self {
        let state = State::ambient(&spec.operation);
        Self {
            life: Life::new(state, body),
            on_stop: Fallback(Some(fallback)),
            budget: PhantomData,
        }
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
        Self {
            life: Life::new(state, body),
            on_stop: Fallback(Some(fallback)),
            budget: PhantomData,
        }
    }
}

fn explicit<B>(parent: Parent, spec: &'static Spec<B>) -> State {
    let none = parent.0.is_none();
    let mut state = State::under(Some(&spec.operation), parent.0);
    state.flags.explicit = true;
    // `Context::none()` is asked for by work that must not end with whoever happens to poll it.
    state.flags.replaces = none;
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
        let mut this = self.project();
        match this.life.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(value)) => Poll::Ready(value),
            Poll::Ready(Err(stopped)) => {
                if K::MISSING {
                    missed_by(&stopped, this.life.state());
                }
                match this.on_stop.value(stopped) {
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
