//! [`Progress`]: what a request is in the middle of.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::context::Context;
use crate::context::node::Node;
use crate::stop::Phase;

/// Shared by the parts of one request; written by whoever is polled, read when the request ends. It lies in the request's
/// root: an allocation less.
#[derive(Clone)]
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

    pub(super) fn enter(&self, stage: Stage) {
        let number = match stage {
            Stage::Queue => 0,
            Stage::Handler => 1,
            Stage::RequestBody => 2,
            Stage::ResponseBody => 3,
        };
        if let Some(node) = &self.0 {
            node.stage.store(number, Ordering::Relaxed);
        }
    }

    pub(super) fn stage(&self) -> Stage {
        let number = self
            .0
            .as_ref()
            .map_or(0, |node| node.stage.load(Ordering::Relaxed));
        match number {
            0 => Stage::Queue,
            1 => Stage::Handler,
            2 => Stage::RequestBody,
            _ => Stage::ResponseBody,
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stage().fmt(f)
    }
}

impl Stage {
    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Queue => Phase::Queue,
            Self::Handler => Phase::Wait,
            Self::RequestBody | Self::ResponseBody => Phase::Body,
        }
    }
}
