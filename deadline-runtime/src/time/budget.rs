//! [`Budget`]: what one piece of work may take, and how it divides that.

use std::time::Duration;

use super::deadline::{LONGEST, nanos};

/// The least that must be left before work is begun: timers have this resolution.
pub(crate) const SHORTEST: Duration = Duration::from_millis(1);

/// The most time a piece of work may take, and how it divides that time.
///
/// Its deadline is the earlier of the parent's and `start + budget`, so that a child can shorten a request
/// and never lengthen it.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::Budget;
///
/// const DB: Budget = Budget::new(Duration::from_millis(250)).min(Duration::from_millis(20));
/// # let _ = DB;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub(crate) cap: Cap,
    pub(crate) reserve: Duration,
    pub(crate) min: Min,
    pub(crate) cleanup: Duration,
}

/// What bounds a piece of work besides its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cap {
    /// Nothing: the parent's deadline is the limit.
    Inherited,
    Time(Duration),
    /// Of what the parent has left when the work starts.
    Percent(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Min {
    Time(Duration),
    /// Of the budget.
    Percent(u64),
}

impl Budget {
    /// At most `cap`, counted from the start of the work.
    #[must_use]
    pub const fn new(cap: Duration) -> Self {
        Self {
            cap: Cap::Time(cap),
            ..Self::inherited()
        }
    }

    /// No limit of its own: the parent's deadline holds.
    #[must_use]
    pub const fn inherited() -> Self {
        Self {
            cap: Cap::Inherited,
            reserve: Duration::ZERO,
            min: Min::Time(Duration::ZERO),
            cleanup: Duration::ZERO,
        }
    }

    /// `percent` of what the parent has left when the work starts; more than 100 counts as 100.
    #[must_use]
    pub const fn percent(percent: u64) -> Self {
        let percent = if percent > 100 { 100 } else { percent };
        Self {
            cap: Cap::Percent(percent),
            ..Self::inherited()
        }
    }

    /// Keeps the end of the budget for building and sending an answer: children and awaits may not use it.
    #[must_use]
    pub const fn reserve(mut self, reserve: Duration) -> Self {
        self.reserve = reserve;
        self
    }

    /// What a useful run needs: with less left the work is refused before it starts. Equality runs.
    #[must_use]
    pub const fn min(mut self, min: Duration) -> Self {
        self.min = Min::Time(min);
        self
    }

    pub(crate) const fn min_percent(mut self, percent: u64) -> Self {
        self.min = Min::Percent(percent);
        self
    }

    /// The last slice of the budget, for tidying up after a stop.
    #[must_use]
    pub const fn cleanup(mut self, cleanup: Duration) -> Self {
        self.cleanup = cleanup;
        self
    }

    /// The cap in milliseconds, with the meaning of [`Duration::as_millis`]; zero when there is none.
    #[must_use]
    pub const fn as_millis(&self) -> u128 {
        match self.cap {
            Cap::Time(cap) => cap.as_millis(),
            Cap::Inherited | Cap::Percent(_) => 0,
        }
    }

    /// The cap, if it is a duration.
    pub(crate) const fn duration(&self) -> Option<Duration> {
        match self.cap {
            Cap::Time(cap) => Some(cap),
            Cap::Inherited | Cap::Percent(_) => None,
        }
    }

    /// The time this budget grants when the parent has `left`.
    #[inline]
    pub(crate) fn granted(&self, left: Option<Duration>) -> Option<Duration> {
        match self.cap {
            Cap::Inherited => None,
            Cap::Time(cap) => Some(cap),
            Cap::Percent(percent) => left.map(|left| share(left, percent)),
        }
    }

    /// The least that must be left before the work's own end, given what it was granted.
    #[inline]
    pub(crate) fn least(&self, granted: Option<Duration>) -> Duration {
        match self.min {
            Min::Time(min) => min,
            Min::Percent(percent) => {
                granted.map_or(Duration::ZERO, |granted| share(granted, percent))
            }
        }
    }

    /// What is kept back between the end of work and the hard end.
    pub(crate) fn kept(&self) -> Duration {
        self.reserve.saturating_add(self.cleanup)
    }
}

/// The figures of a budget in nanoseconds, worked out once where it is declared: a scope adds and compares them at every
/// poll.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// The time it grants; `None` without one of its own, and for a share of what is left.
    pub(crate) cap: Option<u64>,
    /// What is kept back between the end of work and the hard end.
    pub(crate) kept: u64,
    /// The least that must be left before work is begun; `None` for a share of what is granted.
    pub(crate) least: Option<u64>,
    /// Whether the limit is a share of what is left.
    pub(crate) shares: bool,
    /// How long after the end of its children the work itself ends: with a reserve their errors may still be turned
    /// into an answer. When both ended at the same instant a child in another task would race its parent.
    pub(crate) slack: u64,
}

impl Figures {
    pub(crate) const fn of(budget: &Budget) -> Self {
        let reserve = nanos(budget.reserve);
        let cleanup = nanos(budget.cleanup);
        Self {
            cap: match budget.cap {
                Cap::Time(cap) => Some(smaller(nanos(cap), nanos(LONGEST))),
                Cap::Inherited | Cap::Percent(_) => None,
            },
            kept: reserve.saturating_add(cleanup),
            least: match budget.min {
                Min::Time(min) if nanos(min) > nanos(SHORTEST) => Some(nanos(min)),
                Min::Time(_) => Some(nanos(SHORTEST)),
                Min::Percent(_) => None,
            },
            shares: matches!(budget.cap, Cap::Percent(_)),
            slack: if cleanup == 0 {
                smaller(reserve / 4, 5_000_000)
            } else {
                0
            },
        }
    }
}

impl Figures {
    /// What must be left to the hard end, where it is no share of anything.
    pub(crate) const fn needs(&self) -> Option<u64> {
        match self.least {
            Some(least) if !self.shares => Some(self.kept.saturating_add(least)),
            _ => None,
        }
    }
}

const fn smaller(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

impl From<Duration> for Budget {
    fn from(cap: Duration) -> Self {
        Self::new(cap)
    }
}

fn share(of: Duration, percent: u64) -> Duration {
    let nanos = of.as_nanos() * u128::from(percent.min(100)) / 100;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_of_what_is_left() {
        let left = Some(Duration::from_secs(1));
        assert_eq!(
            Budget::percent(40).granted(left),
            Some(Duration::from_millis(400))
        );
        assert_eq!(Budget::percent(400).granted(left), left);
        assert_eq!(Budget::percent(40).granted(None), None);
        assert_eq!(
            Budget::new(Duration::MAX).granted(left),
            Some(Duration::MAX)
        );
        assert_eq!(Budget::inherited().granted(left), None);
    }

    #[test]
    fn a_relative_minimum_is_of_the_budget() {
        let budget = Budget::new(Duration::from_millis(200)).min_percent(50);
        assert_eq!(
            budget.least(budget.granted(None)),
            Duration::from_millis(100)
        );
    }
}
