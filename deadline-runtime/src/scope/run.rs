//! [`Run`]: a future under a context made by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::life::{Life, State};
use crate::context::node::Node;
use crate::stop::Stopped;

pin_project! {
    /// The future of [`Context::run`](crate::Context::run) and of [`timeout`](crate::timeout).
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Run<F> {
        #[pin]
        life: Life<F>,
    }
}

impl<F: Future> Run<F> {
    /// `context` is `None` for [`Context::none`](crate::Context::none): no limit at all, whoever polls.
    pub(crate) fn new(context: Option<Arc<Node>>, replaces: bool, body: F) -> Self {
        let mut state = State::under(None, None);
        state.flags.replaces = replaces || context.is_none();
        if let Some(node) = context {
            state.hard = node.limits.hard;
            state.started = Some(node.started);
            state.flags.again = node.of_scope;
            state.at_depth(node.depth);
            state.node = Some(node);
            state.flags.fixed = true;
            state.flags.explicit = true;
        }
        Self {
            life: Life::new(state, body),
        }
    }

    /// As [`Context::run`](crate::Context::run), for a boundary that makes the one event of a stopped request itself.
    #[cfg(feature = "http")]
    pub(crate) fn quiet(context: Option<Arc<Node>>, body: F) -> Self {
        let mut run = Self::new(context, false, body);
        run.life.state_mut().flags.quiet = true;
        run
    }
}

impl<F: Future> Future for Run<F> {
    type Output = Result<F::Output, Stopped>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.project().life.poll(cx)
    }
}
