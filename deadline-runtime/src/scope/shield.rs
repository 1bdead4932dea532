//! [`Shield`]: a bounded piece of work that an ancestor's stop does not cut.

use std::future::IntoFuture;

use super::limit::Limited;
use super::operation::{Operation, Spec};
use super::state::{Flag, Flags, State};
use crate::context::Mode;
use crate::context::current::{self, Entered, Frame, Inherited};
use crate::context::node::{Limits, Node, Request, Seed};
use crate::figure::Figure;
use crate::time::Deadline;

/// An entered shield: from here until [`run`](Self::run) the shielded context is the ambient one, so that calls which
/// are evaluated in between capture it instead of the context they are shielded from.
///
/// It is its own root: an ancestor's cancel does not reach it, and it ends at its own bound or at the ancestor's hard
/// deadline, whichever is earlier.
pub struct Shield {
    operation: &'static Operation,
    entered: Option<Entered>,
    context: Option<Inherited>,
    started: Deadline,
}

impl Shield {
    /// Makes the shielded context and enters it.
    #[must_use]
    pub fn enter<B: Figure>(spec: &'static Spec<B>) -> Self {
        let operation = &spec.operation;
        let started = Deadline::now();
        let around = current::with(|frame| {
            let request = if frame.is_none() {
                None
            } else {
                Some(Box::new(Request::within(frame.node())))
            };
            (frame.limits.hard, frame.mode, frame.depth, request)
        });
        let (hard, mode, depth, request) = around.unwrap_or_else(|| (None, Mode::Enforce, 0, None));
        let granted = operation
            .budget
            .granted(hard.map(|hard| hard.since(started)));
        let own = granted.map(|granted| started.plus(granted));
        let end = Deadline::earlier(own, hard);
        let depth = depth.saturating_add(1);
        let seed = Seed {
            operation: operation.into(),
            limits: Limits {
                soft: end,
                hard: end,
            },
            limit: operation.limit(),
            own: true,
            started,
            mode,
            depth,
            of_scope: false,
        };
        let node = Node::root(seed, request);
        let entered = current::enter(Frame {
            operation: Some(operation),
            ..Frame::of(Some(&node))
        });
        let context = Inherited {
            node,
            soft: end,
            owner: None,
            depth,
        };
        Self {
            operation,
            entered: Some(entered),
            context: Some(context),
            started,
        }
    }

    /// Leaves the shielded context and runs the future under it. With less left before the ancestor's hard deadline
    /// than the shield asks for, it is refused before it starts.
    pub fn run<F: IntoFuture>(mut self, future: F) -> Limited<F::IntoFuture> {
        drop(self.entered.take());
        let mut state = State::under(Some(self.operation), self.context.take());
        state.started = Some(self.started);
        state.flags = Flags::of([Flag::Fixed, Flag::Replaces, Flag::Shield]);
        Limited::new(state, future.into_future())
    }
}
