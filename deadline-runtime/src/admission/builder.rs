//! [`AdmissionBuilder`]: what can be said about an admission, and what of it makes no sense.

use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::limiter::Admission;
use crate::stop::Limit;

/// Describes an [`Admission`].
#[derive(Debug, Clone)]
#[must_use = "nothing is limited before it is built"]
pub struct AdmissionBuilder {
    pub(super) limit: Limit,
    pub(super) slots: Slots,
    pub(super) queue: Option<usize>,
    pub(super) max_wait: Duration,
    pub(super) min: Duration,
    pub(super) refuse_at_most: u8,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Slots {
    Count(usize),
    Pool {
        connections: usize,
        per_request: usize,
    },
}

impl AdmissionBuilder {
    #[track_caller]
    pub(super) fn new(name: &'static str, slots: Slots) -> Self {
        Self {
            limit: Limit {
                operation: name,
                location: Location::caller(),
            },
            slots,
            queue: None,
            max_wait: Duration::from_secs(1),
            min: Duration::ZERO,
            refuse_at_most: 50,
        }
    }

    /// How many may wait in line; ten for each slot if nothing is said, none with zero.
    pub const fn queue(mut self, waiting: usize) -> Self {
        self.queue = Some(waiting);
        self
    }

    /// How long one may wait in line; a second if nothing is said.
    pub const fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// What a run needs: a wait that does not leave it is not waited for, and who has less does not wait at all. (A free slot
    /// is given to whoever asks; what may run is the policy's `min`.) Nothing if nothing is said.
    pub const fn min(mut self, min: Duration) -> Self {
        self.min = min;
        self
    }

    /// How many of a hundred may be refused because their wait is expected to be too long; 50 if nothing is said. Ten refusals
    /// in a row are always possible.
    pub const fn refuse_at_most(mut self, percent: u8) -> Self {
        self.refuse_at_most = percent;
        self
    }

    /// The admission.
    ///
    /// # Errors
    /// [`AdmissionError`] for figures that would admit nobody, or that are none.
    pub fn build(self) -> Result<Admission, AdmissionError> {
        let name = self.limit.operation;
        let refuse = |problem| Err(AdmissionError { name, problem });
        let slots = match self.slots {
            Slots::Count(slots) => slots,
            Slots::Pool { per_request: 0, .. } => return refuse(Problem::NoConnection),
            Slots::Pool {
                connections,
                per_request,
            } if per_request > connections => {
                return refuse(Problem::PoolTooSmall {
                    connections,
                    per_request,
                });
            }
            Slots::Pool {
                connections,
                per_request,
            } => connections / per_request,
        };
        if slots == 0 {
            return refuse(Problem::NoSlot);
        }
        if slots > Semaphore::MAX_PERMITS {
            return refuse(Problem::TooManySlots(slots));
        }
        if self.refuse_at_most > 100 {
            return refuse(Problem::Percent(self.refuse_at_most));
        }
        Ok(Admission::build(&self, slots))
    }
}

/// The figures of an admission that make no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionError {
    name: &'static str,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    NoSlot,
    TooManySlots(usize),
    NoConnection,
    PoolTooSmall {
        connections: usize,
        per_request: usize,
    },
    Percent(u8),
}

impl fmt::Display for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "admission `{}`: ", self.name)?;
        match self.problem {
            Problem::NoSlot => f.write_str("0 slots admit nobody, at least 1 is needed"),
            Problem::TooManySlots(slots) => write!(
                f,
                "{slots} slots are more than can be counted, at most {} are accepted",
                Semaphore::MAX_PERMITS
            ),
            Problem::NoConnection => f.write_str(
                "a request that takes 0 connections needs no pool, say how many it takes",
            ),
            Problem::PoolTooSmall {
                connections,
                per_request,
            } => write!(
                f,
                "a request takes {per_request} connections at once and the pool has {connections}, so none could ever be served"
            ),
            Problem::Percent(percent) => {
                write!(
                    f,
                    "refuse_at_most({percent}) is no percentage, 0 to 100 are accepted"
                )
            }
        }
    }
}

impl Error for AdmissionError {}
