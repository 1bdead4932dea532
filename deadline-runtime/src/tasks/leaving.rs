//! What becomes of a scope's tasks and hooks when it has ended for good.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::hooks;
use super::reaper;
use crate::context::node::Node;
use crate::stop::Cause;

impl Node {
    /// A scope begins to run under this context, which was made by hand.
    pub(crate) fn run_begins(&self) {
        self.runs.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn is_run_once(&self) -> bool {
        self.runs.load(Ordering::SeqCst) == 1
    }

    /// The scope of this node is over: nothing is left with it. `stopped` is why, if it did not end with a value.
    pub(crate) fn left(self: &Arc<Self>, cause: Cause, stopped: bool) {
        // First said, then looked: see `attach_if_attended`.
        if self.of_scope {
            self.over.store(true, Ordering::SeqCst);
        } else if self.runs.fetch_sub(1, Ordering::SeqCst) > 1 {
            // Another one runs under the same context.
            return;
        }
        std::sync::atomic::fence(Ordering::SeqCst);
        let Some(parts) = self.attached(std::mem::take) else {
            return;
        };
        for crew in parts.crews {
            if self.mode.enforces() {
                reaper::hand_over(crew, cause, self.parent());
            } else {
                // Nothing is cut short where nothing is enforced.
                crew.let_run();
            }
        }
        if let Some(above) = self.parent() {
            for reaper in parts.reapers {
                above.keep_reaper(reaper);
            }
        }
        if let Some(payload) = parts.panic {
            reaper::report(&*payload);
        }
        if stopped && !parts.hooks.is_empty() {
            hooks::run(parts.hooks, self);
        }
    }
}
