//! [`Slot`]: a place that is taken, and who else holds it.

use std::fmt;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::limiter::Admission;
use crate::context::Context;
use crate::time::Deadline;

/// A slot of an [`Admission`]. Dropping it gives it back, unless something of the request still runs that was started
/// while it was held.
#[must_use = "a slot that is dropped is free again"]
pub struct Slot(Arc<Taken>);

/// The slot itself, shared by who took it and by what the request has started meanwhile. Without its type, so that a context
/// stays easy to prove `Send`: rustc has a limit for how deep that may go.
pub(crate) type Kept = Arc<Held>;
pub(crate) type Held = dyn Send + Sync;

struct Taken {
    admission: Admission,
    since: Deadline,
    context: Context,
    _permit: OwnedSemaphorePermit,
}

impl Slot {
    pub(super) fn new(
        admission: Admission,
        permit: OwnedSemaphorePermit,
        context: &Context,
        since: Deadline,
    ) -> Self {
        let taken = Arc::new(Taken {
            admission,
            since,
            context: context.clone(),
            _permit: permit,
        });
        if let Some(node) = context.node() {
            let kept: Kept = taken.clone();
            node.keep(&kept);
        }
        Self(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // What was cut short says nothing about how long it takes.
        let now = Deadline::now();
        if self.context.cause_by(|| now).is_none() {
            let held = now.since(self.since);
            self.admission.estimate().came_back(held);
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.0.admission).finish()
    }
}
