//! [`Watch`]: who is told when an attempt begins and ends.

use super::around::Place;
use super::counts::AttemptCounts;
use super::record::{Attempt, AttemptOutcome, AttemptRecord};
use crate::scope::TARGET;
use crate::time::{Deadline, Short};

/// The listener of [`on_attempt`](crate::hedge::Hedging::on_attempt).
type Listener = Box<dyn FnMut(&AttemptRecord) + Send>;

/// Counts, a listener, and an event for each attempt.
pub(crate) struct Watch {
    pub(crate) place: Place,
    /// When the first attempt began.
    first: Option<Deadline>,
    pub(crate) counts: Option<AttemptCounts>,
    pub(crate) listener: Option<Listener>,
}

impl Watch {
    pub(crate) const fn new(place: Place) -> Self {
        Self {
            place,
            first: None,
            counts: None,
            listener: None,
        }
    }

    pub(crate) fn begun(&mut self, at: Deadline) {
        self.first.get_or_insert(at);
        if let Some(counts) = &self.counts {
            counts.start();
        }
    }

    pub(crate) fn first(&self) -> Deadline {
        self.first.unwrap_or_else(Deadline::now)
    }

    /// An attempt is over. What nobody wants to know is not found out.
    pub(crate) fn ended(
        &mut self,
        attempt: Attempt,
        started: Deadline,
        outcome: AttemptOutcome,
        told: Option<Deadline>,
    ) {
        if let Some(counts) = &self.counts {
            counts.end(outcome);
        }
        if self.listener.is_some() || tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
            self.tell(attempt, started, outcome, told);
        }
    }

    #[inline(never)]
    fn tell(
        &mut self,
        attempt: Attempt,
        started: Deadline,
        outcome: AttemptOutcome,
        told: Option<Deadline>,
    ) {
        // Destructors may run where there is no clock.
        let Some(now) = Deadline::now_if_any() else {
            return;
        };
        let record = AttemptRecord {
            operation: self.place.name,
            number: attempt.number,
            started: started.since(self.first.unwrap_or(started)),
            granted: attempt.granted,
            elapsed: now.since(started),
            outcome,
            stop_lag: told.map(|told| now.since(told)),
        };
        tracing::debug!(
            target: TARGET,
            op = record.operation,
            attempt = record.number,
            outcome = record.outcome.as_str(),
            elapsed = %Short(record.elapsed),
            "attempt {} {}",
            record.number,
            record.outcome
        );
        if let Some(listener) = &mut self.listener {
            listener(&record);
        }
    }

    /// A next attempt is not made.
    pub(crate) fn denied(&self, number: u32, why: &str) {
        if let Some(counts) = &self.counts {
            counts.deny();
        }
        tracing::debug!(target: TARGET, op = self.place.name, attempt = number, "attempt {number} is not made: {why}");
    }
}
