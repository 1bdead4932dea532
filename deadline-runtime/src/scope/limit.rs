//! [`Limit`]: the cap of a `#[budget]` statement.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::checkpoint::missed;
use super::gate::At;
use super::operation::{Operation, Spec};
use super::scoped::{Carry, Scoped};
use super::state::{Flag, State};
use crate::context::Mode;
use crate::context::current;
use crate::figure::Figure;
use crate::stop::Stopped;
use crate::time::Deadline;

/// One deadline that every await of a statement shares. It starts where the statement starts.
#[derive(Clone, Copy)]
pub struct Limit {
    operation: &'static Operation,
    started: Option<Deadline>,
    end: Option<Deadline>,
}

impl Limit {
    /// Starts the clock of the statement.
    #[must_use]
    pub fn start<B: Figure>(spec: &'static Spec<B>) -> Self {
        let (mode, soft) =
            current::with(|frame| (frame.mode, frame.limits.soft)).unwrap_or((Mode::Enforce, None));
        let operation = &spec.operation;
        let started = (mode != Mode::Off).then(Deadline::now);
        let end = started.and_then(|started| {
            let left = soft.map(|soft| soft.since(started));
            let granted = operation.budget.granted(left)?;
            Some(started.plus(granted))
        });
        Self {
            operation,
            started,
            end,
        }
    }

    /// Starts the clock of a statement inside a statement: it ends with the outer one at the latest.
    #[must_use]
    pub fn within<B: Figure>(self, spec: &'static Spec<B>) -> Self {
        let inner = Self::start(spec);
        match (self.end, inner.end) {
            (Some(outer), Some(end)) if end < outer => inner,
            (None, _) => inner,
            (Some(_), _) => Self {
                started: inner.started,
                ..self
            },
        }
    }

    /// Runs one await of the statement.
    #[inline(always)]
    pub fn run<F: IntoFuture>(self, future: F) -> Limited<F::IntoFuture> {
        Limited {
            scoped: Scoped::of(self.state(), Carry, future.into_future()),
        }
    }

    /// Runs one await of a statement with a fallback.
    #[inline(always)]
    pub fn run_or_miss<F: IntoFuture>(self, future: F) -> LimitedOrMissed<F::IntoFuture> {
        LimitedOrMissed {
            limited: self.run(future),
        }
    }

    #[inline]
    fn state(self) -> State {
        let mut state = State::under(Some(self.operation), None);
        state.started = self.started;
        state.hard = self.end;
        state.flags.set(Flag::Fixed, true);
        state
    }
}

pin_project! {
    /// An await under a cap.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Limited<F>
    where
        F: Future,
    {
        #[pin]
        scoped: Scoped<F, ()>,
    }
}

impl<F: Future> Limited<F> {
    pub(super) fn new(state: State, future: F) -> Self {
        Self {
            scoped: Scoped::of(state, Carry, future),
        }
    }
}

impl<F: Future> Future for Limited<F> {
    type Output = Result<F::Output, Stopped>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.project().scoped.run(false, cx)
    }
}

pin_project! {
    /// An await under a cap whose miss is replaced.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct LimitedOrMissed<F>
    where
        F: Future,
    {
        #[pin]
        limited: Limited<F>,
    }
}

/// The value of an await, and whether something inside it ended by exactly this cap.
pub struct Capped<T> {
    value: Result<T, Stopped>,
    by_own_limit: Option<Stopped>,
}

impl<F: Future> Future for LimitedOrMissed<F> {
    type Output = At<Capped<F::Output>>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut scoped = self.project().limited.project().scoped;
        let value = std::task::ready!(scoped.as_mut().run(true, cx));
        // A value is not held back here: its state is where it was.
        let state = scoped.pinned_state().filter(|_| value.is_ok());
        let by_own_limit = state.and_then(|state| state.own_limit_hit());
        Poll::Ready(At(Capped {
            value,
            by_own_limit,
        }))
    }
}

impl<T, E> At<Capped<Result<T, E>>> {
    /// A callee that returns the stop of exactly this cap as its error missed it, whatever its error type is.
    #[allow(clippy::missing_errors_doc, reason = "part of the expansion")]
    pub fn deadline_settle(self) -> Result<Result<T, E>, Stopped> {
        match (self.0.value, self.0.by_own_limit) {
            (Ok(Err(_)), Some(stopped)) => Err(missed(stopped)),
            (value, _) => value,
        }
    }
}

/// The same for values that are not results.
pub trait Settle {
    /// What the await yields.
    type Value;
    /// The value, or the miss.
    #[allow(clippy::missing_errors_doc, reason = "part of the expansion")]
    fn deadline_settle(self) -> Result<Self::Value, Stopped>;
}

impl<T> Settle for At<Capped<T>> {
    type Value = T;
    fn deadline_settle(self) -> Result<T, Stopped> {
        self.0.value
    }
}
