//! [`Watch`]: who is told when an attempt begins and ends.

use std::time::Duration;

use super::around::Place;
use super::counts::AttemptCounts;
use super::record::{Attempt, AttemptRecord};
use crate::scope::TARGET;
use crate::time::{Deadline, Short};

/// The listener of [`on_attempt`](crate::hedge::Hedging::on_attempt).
type Listener = Box<dyn FnMut(&AttemptRecord) + Send>;

/// Counts, a listener, and an event for each attempt.
pub(crate) struct Watch {
    pub(crate) place: Place,
    /// When the first attempt began.
    started: Option<Deadline>,
    pub(crate) counts: Option<AttemptCounts>,
    pub(crate) listener: Option<Listener>,
}

impl Watch {
    pub(crate) const fn new(place: Place) -> Self {
        Self {
            place,
            started: None,
            counts: None,
            listener: None,
        }
    }

    pub(crate) fn begun(&mut self, at: Deadline) {
        self.started.get_or_insert(at);
        if let Some(counts) = &self.counts {
            counts.start();
        }
    }

    pub(crate) fn since_first(&self, at: Deadline) -> Duration {
        self.started
            .map_or(Duration::ZERO, |started| at.since(started))
    }

    pub(crate) fn first(&self) -> Deadline {
        self.started.unwrap_or_else(Deadline::now)
    }

    pub(crate) fn ended(&mut self, record: &AttemptRecord) {
        if let Some(counts) = &self.counts {
            counts.end(record.outcome);
        }
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
            listener(record);
        }
    }

    /// A next attempt is not made.
    pub(crate) fn denied(&self, number: u32, why: &str) {
        if let Some(counts) = &self.counts {
            counts.deny();
        }
        tracing::debug!(target: TARGET, op = self.place.name, attempt = number, "attempt {number} is not made: {why}");
    }

    pub(crate) fn record(
        &self,
        attempt: Attempt,
        started: Deadline,
        outcome: super::AttemptOutcome,
        now: Deadline,
    ) -> AttemptRecord {
        AttemptRecord {
            operation: self.place.name,
            number: attempt.number,
            started: self.since_first(started),
            granted: attempt.granted,
            elapsed: now.since(started),
            outcome,
            stop_lag: None,
        }
    }
}
