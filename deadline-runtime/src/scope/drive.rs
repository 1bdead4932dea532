//! One poll of a scope, whatever its body is.
//!
//! Nothing here knows the type of a body: it is compiled once, and what every annotated function adds to it is the little
//! in [`scoped`](super::scoped) that has to know.

use std::task::{self, Poll};

use super::leave::Leave;
use super::life::{End, Next, Refused, Running};
use super::state::State;
use crate::context::current::Poller;
use crate::stop::Stopped;

/// What a poll has come to.
#[derive(Clone, Copy)]
pub(super) enum Driven {
    Pending,
    /// There is a value, and nothing else to see to.
    Value,
    /// There is a value, and something hangs on the scope.
    Attached,
    /// It may not begin.
    Refused,
    /// The body has to be dropped.
    Stopped(End),
}

impl Driven {
    /// Whether it is no more than a value or a wait.
    #[inline]
    pub(super) const fn is_plain(self) -> bool {
        matches!(self, Self::Pending | Self::Value)
    }
}

impl State {
    /// Polls the scope. `body` polls what is in it, keeps the value, and says whether there is one; `holds` is whether a value
    /// can be held back until what the scope has spawned is joined.
    #[inline(never)]
    pub(super) fn drive(
        &mut self,
        holds: bool,
        cx: &mut task::Context<'_>,
        body: &mut dyn FnMut(&mut task::Context<'_>) -> bool,
    ) -> Driven {
        // Polled after its end: nothing will ever come.
        if self.is_over() {
            return Driven::Pending;
        }
        loop {
            match self.begin(cx.waker()) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(Refused)) => return Driven::Refused,
                Poll::Pending => return Driven::Pending,
            }
            let running = Running::begun(self);
            if body(cx) {
                running.done();
                self.completed();
                if holds && self.has_tasks() {
                    return Driven::Attached;
                }
                self.gone(false);
                return Driven::Value;
            }
            match running.pending(cx) {
                Next::Wait => return Driven::Pending,
                Next::Again => {}
                Next::End(end) => return Driven::Stopped(end),
            }
        }
    }
}

/// What is left of a scope whose body is gone.
pub(super) struct Left {
    pub(super) stopped: Option<Stopped>,
    /// What it has spawned is to be joined first.
    pub(super) leave: Option<Leave>,
}

impl State {
    /// What becomes of a scope whose poll has come to more than a value. `drop_body` does what it says.
    #[inline(never)]
    pub(super) fn part(
        mut self,
        driven: Driven,
        missing: bool,
        drop_body: &mut dyn FnMut(),
    ) -> Left {
        let stopped = match driven {
            Driven::Pending | Driven::Value | Driven::Attached => None,
            Driven::Stopped(end) => Some(self.stop(end)),
            Driven::Refused => Some(self.refused()),
        };
        let parting = match driven {
            Driven::Stopped(_) => Parting::stopped(&mut self),
            _ => Parting(Some((&mut self, How::Over))),
        };
        drop_body();
        parting.done();
        let begun = !matches!(driven, Driven::Refused);
        let leave = self.without_body(stopped.as_ref(), begun, missing);
        Left { stopped, leave }
    }

    /// The scope is dropped by somebody else before its end.
    #[inline(never)]
    pub(super) fn abandoned(mut self, drop_body: &mut dyn FnMut()) {
        let parting = Parting::dropped(&mut self);
        drop_body();
        parting.done();
    }
}

/// A scope apart from its future, while the body in there is dropped. If that panics, what hangs on the scope is seen to
/// all the same.
pub(super) struct Parting<'a>(Option<(&'a mut State, How)>);

#[derive(Clone, Copy)]
enum How {
    /// By itself. Destructors see the context, and log inside it.
    Stopped,
    /// The same, by somebody else.
    Dropped,
    /// By somebody else, before its start.
    Unbegun,
    /// By itself, after its value or a refusal. The caller sees to the rest.
    Over,
}

impl<'a> Parting<'a> {
    /// Of a scope that is stopped.
    pub(super) fn stopped(state: &'a mut State) -> Self {
        Self::inside(state, How::Stopped)
    }

    /// Of one that is dropped by somebody else, and not over.
    #[inline(never)]
    pub(super) fn dropped(state: &'a mut State) -> Self {
        if state.has_begun() {
            Self::inside(state, How::Dropped)
        } else {
            // The body goes first: where that is the last of a scope, it is seen as such.
            Self(Some((state, How::Unbegun)))
        }
    }

    fn inside(state: &'a mut State, how: How) -> Self {
        state.enter(Poller::none());
        Self(Some((state, how)))
    }

    /// The body is gone.
    #[inline(never)]
    pub(super) fn done(mut self) {
        let Some((state, how)) = self.0.take() else {
            return;
        };
        match how {
            How::Over => {}
            How::Unbegun => state.dropped_before_its_start(),
            How::Stopped => {
                state.leave();
            }
            How::Dropped => {
                let also = state.leave();
                state.dropped_from_outside(also.as_ref());
            }
        }
    }
}

impl Drop for Parting<'_> {
    fn drop(&mut self) {
        let Some((state, how)) = self.0.take() else {
            return;
        };
        match how {
            How::Unbegun => {}
            How::Over => state.gone(true),
            How::Stopped | How::Dropped => {
                state.leave();
                state.gone(true);
            }
        }
    }
}
