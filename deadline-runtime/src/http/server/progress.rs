//! [`Progress`]: what a request is in the middle of.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::context::Context;
use crate::context::node::Node;
use crate::stop::Phase;

/// Shared by the parts of one request; written by whoever is polled, read when the request ends. It lies in the request's
/// root: an allocation less.
#[derive(Clone, Default)]
pub(super) struct Progress(Option<Arc<Node>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waiting until the service below is ready.
    Queue,
    Handler,
    /// The handler waits for more of what the client sends.
    RequestBody,
    ResponseBody,
}

impl Progress {
    pub(super) fn of(request: &Context) -> Self {
        Self(request.node().cloned())
    }

    #[inline]
    pub(super) fn enter(&self, stage: Stage) {
        if let Some(node) = &self.0 {
            stage.enter(node);
        }
    }

    fn stage(&self) -> Stage {
        self.0.as_ref().map_or(Stage::Queue, |node| Stage::of(node))
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stage().fmt(f)
    }
}

impl Stage {
    #[inline]
    pub(super) fn enter(self, request: &Node) {
        let number = match self {
            Self::Queue => 0,
            Self::Handler => 1,
            Self::RequestBody => 2,
            Self::ResponseBody => 3,
        };
        request.stage.store(number, Ordering::Relaxed);
    }

    pub(super) fn of(request: &Node) -> Self {
        match request.stage.load(Ordering::Relaxed) {
            0 => Self::Queue,
            1 => Self::Handler,
            2 => Self::RequestBody,
            _ => Self::ResponseBody,
        }
    }

    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Queue => Phase::Queue,
            Self::Handler => Phase::Wait,
            Self::RequestBody | Self::ResponseBody => Phase::Body,
        }
    }
}
