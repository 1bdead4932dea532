//! [`Roster`]: how many tasks of a crew still run, whether anybody waits for them or not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tracker::Gauge;
use crate::admission::Kept;
use crate::context::node::Node;

/// Counts the tasks that have not been dropped yet. When they are given up, what is left are orphans, and stays
/// counted as such until the last one is gone.
#[derive(Default)]
pub(super) struct Roster(Mutex<Count>);

#[derive(Default)]
struct Count {
    running: usize,
    /// Nobody waits for them any more.
    given_up: bool,
}

impl Roster {
    pub(super) fn enter(self: &Arc<Self>, node: &Arc<Node>) -> Ticket {
        let mut count = self.count();
        count.running += 1;
        if count.given_up {
            node.orphans(Gauge::OrphanTasks, 1);
        }
        Ticket {
            _kept: node.kept(),
            roster: self.clone(),
            node: node.clone(),
        }
    }

    /// Returns how many become orphans by it.
    pub(super) fn give_up(&self, node: &Arc<Node>) -> usize {
        let mut count = self.count();
        if count.given_up {
            return 0;
        }
        count.given_up = true;
        if count.running > 0 {
            node.orphans(Gauge::OrphanTasks, count.running);
        }
        count.running
    }

    pub(super) fn running(&self) -> usize {
        self.count().running
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that its task still runs; dropped last of all that the task has.
pub(super) struct Ticket {
    /// Slots of the request, which it takes up as long as it runs.
    _kept: Vec<Kept>,
    roster: Arc<Roster>,
    node: Arc<Node>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut count = self.roster.count();
        count.running = count.running.saturating_sub(1);
        if count.given_up {
            self.node.orphan_ended(Gauge::OrphanTasks);
        }
    }
}
