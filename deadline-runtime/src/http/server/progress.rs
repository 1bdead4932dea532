//! [`Progress`]: what a request is in the middle of.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::stop::Phase;

/// Shared by the parts of one request; written by whoever is polled, read when the request ends.
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

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
    pub(super) fn enter(&self, stage: Stage) {
        let number = match stage {
            Stage::Queue => 0,
            Stage::Handler => 1,
            Stage::RequestBody => 2,
            Stage::ResponseBody => 3,
        };
        self.0.store(number, Ordering::Relaxed);
    }

    pub(super) fn stage(&self) -> Stage {
        match self.0.load(Ordering::Relaxed) {
            0 => Stage::Queue,
            1 => Stage::Handler,
            2 => Stage::RequestBody,
            _ => Stage::ResponseBody,
        }
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
