//! [`Run`]: a future under a context made by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::scoped::{Carry, Joining, Scoped};
use super::state::{Flag, State};
use crate::context::node::Node;
use crate::stop::Stopped;

pin_project! {
    /// The future of [`Context::run`](crate::Context::run) and of [`timeout`](crate::timeout).
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Run<F>
    where
        F: Future,
    {
        #[pin]
        scoped: Scoped<F, ()>,
    }
}

impl<F: Future> Run<F> {
    /// `context` is `None` for [`Context::none`](crate::Context::none): no limit at all, whoever polls.
    pub(crate) fn new(context: Option<Arc<Node>>, replaces: bool, body: F) -> Self {
        let state = by_hand(context, replaces);
        Self {
            scoped: Scoped::of(state, Carry, body),
        }
    }

    /// Of a future that is told its context when it begins.
    #[inline]
    pub(crate) fn later(body: F) -> Self {
        Self {
            scoped: Scoped::of(State::under(None, None), Carry, body),
        }
    }

    /// Tells it; before the first poll.
    pub(crate) fn begin_under(self: Pin<&mut Self>, context: Option<Arc<Node>>) {
        if let (Some(state), Some(node)) = (self.project().scoped.pinned_state(), context) {
            take_on(state, node);
        }
    }

    /// As [`Context::run`](crate::Context::run), with a limit of the program's own that also holds where the request's
    /// is not enforced.
    pub(crate) fn always(context: Option<Arc<Node>>, body: F) -> Self {
        let enforced = context.as_ref().is_none_or(|node| node.mode.enforces());
        let mut run = Self::new(context, false, body);
        if let Some(state) = run.scoped.state_mut() {
            state.flags.set(Flag::Always, !enforced);
            // Nobody has a handle of this context.
            state.flags.set(Flag::Attends, false);
        }
        run
    }

    /// As [`Context::run`](crate::Context::run); with `always` the context's limit is one of the program's own.
    pub(crate) fn attempt(context: Option<Arc<Node>>, always: bool, body: F) -> Self {
        let enforced = context.as_ref().is_none_or(|node| node.mode.enforces());
        let mut run = Self::new(context, false, body);
        if let Some(state) = run.scoped.state_mut() {
            state.flags.set(Flag::Always, always && !enforced);
        }
        run
    }

    /// As [`Context::run`](crate::Context::run), in a task of a scope that runs under the same context: that one is written
    /// down, and sees to what is spawned.
    pub(crate) fn inside(context: Option<Arc<Node>>, body: F) -> Self {
        let mut run = Self::new(context, false, body);
        if let Some(state) = run.scoped.state_mut() {
            state.flags.set(Flag::Attends, false);
            state.flags.set(Flag::Again, true);
        }
        run
    }

    /// As [`Context::run`](crate::Context::run), for a boundary that makes the one event of a stopped request itself.
    #[cfg(feature = "http")]
    #[inline]
    pub(crate) fn quiet(context: Option<Arc<Node>>, body: F) -> Self {
        let mut state = by_hand(context, false);
        state.flags.set(Flag::Quiet, true);
        Self {
            scoped: Scoped::of(state, Carry, body),
        }
    }

    /// The same of one that was to be told [`later`](Self::later), before its first poll: `make` finds the context in what
    /// is run.
    #[cfg(feature = "http")]
    #[inline]
    pub(crate) fn make_quiet(&mut self, make: impl FnOnce(&mut F) -> Option<Arc<Node>>) {
        if let Some((state, body)) = self.scoped.parts_mut() {
            let context = make(body);
            state.flags.set(Flag::Replaces, context.is_none());
            state.flags.set(Flag::Quiet, true);
            if let Some(node) = context {
                take_on(state, node);
            }
        }
    }
}

impl<F: Future> Future for Run<F> {
    type Output = Result<F::Output, Stopped>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.project().scoped.run(false, cx)
    }
}

/// A scope under a context made by hand.
fn by_hand(context: Option<Arc<Node>>, replaces: bool) -> State {
    let mut state = State::under(None, None);
    state
        .flags
        .set(Flag::Replaces, replaces || context.is_none());
    if let Some(node) = context {
        take_on(&mut state, node);
    }
    state
}

/// Makes the limits and the cancellation of a context made by hand those of the scope.
pub(super) fn take_on(state: &mut State, node: Arc<Node>) {
    state.hard = node.limits.hard;
    state.started = Some(node.started);
    state.flags.set(Flag::Again, node.of_scope);
    state.depth = node.depth;
    // What hangs on a context made by hand is seen to by the scopes that run under it.
    state.flags.set(Flag::Attends, !node.of_scope);
    state.node = Some(node);
    state.flags.set(Flag::Fixed, true);
    state.flags.set(Flag::Explicit, true);
}

pin_project! {
    /// As [`Run`], for a task: its value may be sent to other threads, so that it can wait until what the task has
    /// spawned is joined.
    pub(crate) struct Attended<F>
    where
        F: Future,
    {
        #[pin]
        scoped: Scoped<F, (), Joining<Carry>>,
    }
}

impl<F: Future> Attended<F> {
    /// Under a context of the task's own.
    pub(crate) fn new(node: Arc<Node>, body: F) -> Self {
        let state = by_hand(Some(node), false);
        Self {
            scoped: Scoped::of(state, Joining(Carry), body),
        }
    }

    /// With a limit that holds in every mode.
    pub(crate) fn always(node: Arc<Node>, body: F) -> Self {
        let enforced = node.mode.enforces();
        let mut state = by_hand(Some(node), true);
        state.flags.set(Flag::Always, !enforced);
        Self {
            scoped: Scoped::of(state, Joining(Carry), body),
        }
    }
}

impl<F: Future> Future for Attended<F> {
    type Output = Result<F::Output, Stopped>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.project().scoped.run(false, cx)
    }
}
