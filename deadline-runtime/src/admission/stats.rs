//! [`AdmissionStats`]: everybody who came, once.

use std::sync::atomic::{AtomicU64, Ordering};

/// What has been counted. Each who comes ends in exactly one of them.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) came: AtomicU64,
    pub(super) admitted: AtomicU64,
    pub(super) not_worth_it: AtomicU64,
    pub(super) line_full: AtomicU64,
    pub(super) waited_in_vain: AtomicU64,
    pub(super) left: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What an [`Admission`](super::Admission) holds, and what it has done since it was built.
///
/// `came` is the sum of `admitted`, `refused()`, `left` and `waiting`, as far as nobody moves while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdmissionStats {
    /// How many slots there are.
    pub slots: usize,
    /// How many are taken, also by what has outlived its request.
    pub in_use: usize,
    /// How many wait in line.
    pub waiting: usize,
    /// How many have asked for a slot.
    pub came: u64,
    /// How many got one.
    pub admitted: u64,
    /// Refused because the wait was not expected to leave them what they need.
    pub not_worth_it: u64,
    /// Refused because too many waited already.
    pub line_full: u64,
    /// Refused because there was no slot within the time that one may wait.
    pub waited_in_vain: u64,
    /// Stopped or dropped while they waited. Not refused: nobody waited for them any more.
    pub left: u64,
}

impl AdmissionStats {
    pub(super) fn of(counts: &Counts, slots: usize, in_use: usize, waiting: usize) -> Self {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Self {
            slots,
            in_use,
            waiting,
            came: of(&counts.came),
            admitted: of(&counts.admitted),
            not_worth_it: of(&counts.not_worth_it),
            line_full: of(&counts.line_full),
            waited_in_vain: of(&counts.waited_in_vain),
            left: of(&counts.left),
        }
    }

    /// How many were refused.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.not_worth_it
            .saturating_add(self.line_full)
            .saturating_add(self.waited_in_vain)
    }
}
