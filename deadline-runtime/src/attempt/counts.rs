//! [`AttemptCounts`]: what a metrics exporter reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::AttemptOutcome;

/// Counts of attempts, shared by all calls that were given a clone of it.
///
/// Every attempt is counted once when it starts and once when it ends, also if it is dropped halfway; so what is
/// in flight is [`started`](Self::started) less [`ended`](Self::ended).
///
/// ```
/// use deadline_runtime::AttemptCounts;
///
/// let counts = AttemptCounts::default();
/// assert_eq!(counts.started(), counts.ended());
/// ```
#[derive(Debug, Clone, Default)]
pub struct AttemptCounts(Arc<Cells>);

#[derive(Debug, Default)]
struct Cells {
    started: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
    timed_out: AtomicU64,
    refused: AtomicU64,
    cancelled: AtomicU64,
    not_started: AtomicU64,
}

macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self) -> u64 {
            self.0.$name.load(Ordering::Relaxed)
        }
    )*};
}

impl AttemptCounts {
    readers! {
        /// Attempts that were begun.
        started
        /// Attempts that ended with the value that was returned.
        succeeded
        /// Attempts that ended with an error.
        failed
        /// Attempts that were ended by a limit.
        timed_out
        /// Attempts in which a call was refused before it started.
        refused
        /// Attempts that were stopped or dropped before they were over: losers of a hedge among them.
        cancelled
        /// Attempts that were due and not begun, for want of time or of tokens. Not part of `started`.
        not_started
    }

    /// Attempts that are over.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.succeeded() + self.failed() + self.timed_out() + self.refused() + self.cancelled()
    }

    pub(crate) fn start(&self) {
        self.0.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn deny(&self) {
        self.0.not_started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self, outcome: AttemptOutcome) {
        let cells = &self.0;
        let cell = match outcome {
            AttemptOutcome::Succeeded => &cells.succeeded,
            AttemptOutcome::Failed => &cells.failed,
            AttemptOutcome::TimedOut => &cells.timed_out,
            AttemptOutcome::Refused => &cells.refused,
            AttemptOutcome::Cancelled(_) => &cells.cancelled,
        };
        cell.fetch_add(1, Ordering::Relaxed);
    }
}
