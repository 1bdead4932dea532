//! [`Deadline`]: the absolute monotonic instant that a request carries.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use tokio::time::Instant;

use super::{Short, clock};

/// The furthest ahead a limit may lie. Timers below us panic or wrap beyond about two years, and a
/// request that is bounded by more than a year is not bounded.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An absolute instant on tokio's monotonic clock: when work has to be over.
///
/// It is carried instead of a duration because a duration starts anew wherever it is handed on, and a
/// chain of services that each wait their own eight seconds is the fault this crate exists for. The
/// absence of a deadline is `Option::None`, never a zero and never a huge number; an instant that has
/// passed is expired.
///
/// The clock is [`tokio::time::Instant`], so that a paused clock drives everything; with the feature `fast-clock` it is the
/// [processor's counter](crate#the-clock). A machine that is suspended stops it: what crosses processes must be checked against the
/// wall clock as well.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::Deadline;
///
/// let deadline = Deadline::after(Duration::from_millis(450));
/// assert!(deadline.remaining() <= Duration::from_millis(450));
/// assert!(!deadline.is_expired());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(NonZeroU64);

impl Deadline {
    /// The instant itself as a deadline. Instants too far away to count are clamped.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self::counted(clock::count(instant))
    }

    /// `duration` from now; more than a year counts as a year.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        Self::now().plus(duration)
    }

    /// The current instant.
    ///
    /// With the feature `fast-clock` the first call of a process calibrates the clock, which takes less than a millisecond as a rule.
    #[must_use]
    pub fn now() -> Self {
        Self::counted(clock::now())
    }

    /// As `now`, for destructors: a paused clock lives in a thread-local, so that the last ones of a thread have none.
    pub(crate) fn now_if_any() -> Option<Self> {
        std::panic::catch_unwind(Self::now).ok()
    }

    /// The same instant for tokio's timers. With `fast-clock` it is so as the clocks stand to each other now, a few microseconds off.
    #[must_use]
    pub fn instant(self) -> Instant {
        clock::instant(self.0.get())
    }

    #[inline]
    fn counted(count: u64) -> Self {
        Self(NonZeroU64::new(count).unwrap_or(NonZeroU64::MIN))
    }

    /// How much is left; zero when it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.since(Self::now())
    }

    /// Whether the instant has been reached. A deadline of this very instant is expired.
    #[must_use]
    pub fn is_expired(self) -> bool {
        self <= Self::now()
    }

    /// `self − earlier`, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// Whether less than `least` nanoseconds lie between `earlier` and this.
    #[inline]
    pub(crate) fn is_within(self, least: u64, earlier: Self) -> bool {
        self.0.get().saturating_sub(earlier.0.get()) < least
    }

    /// So many nanoseconds later.
    #[inline]
    pub(crate) fn later(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// So many nanoseconds sooner.
    #[inline]
    pub(crate) fn sooner(self, nanos: u64) -> Self {
        Self::counted(self.0.get().saturating_sub(nanos))
    }

    #[inline]
    pub(crate) fn plus(self, duration: Duration) -> Self {
        self.later(nanos(duration.min(LONGEST)))
    }

    /// The earlier of two limits, where `None` is no limit.
    pub(crate) fn earlier(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, None) | (None, one) => one,
        }
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0.get()
    }

    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }
}

#[allow(clippy::cast_lossless, reason = "there is no const conversion")]
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(duration.subsec_nanos() as u64)
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Self {
        Self::at(instant)
    }
}

/// Prints what is left, since an instant of a monotonic clock has no name.
impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = Self::now();
        if *self > now {
            write!(f, "Deadline(in {})", Short(self.since(now)))
        } else {
            write!(f, "Deadline({} ago)", Short(now.since(*self)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn far_durations_are_clamped_instead_of_overflowing() {
        let year = Deadline::after(LONGEST);
        assert_eq!(Deadline::after(Duration::MAX), year);
        assert_eq!(year.remaining(), LONGEST);
        assert!(year.instant() > Instant::now());
        let last = Deadline(NonZeroU64::MAX);
        assert_eq!(last.plus(Duration::MAX), last);
        assert_eq!(Deadline::now().sooner(u64::MAX), Deadline(NonZeroU64::MIN));
        // A timer takes the furthest one without panicking.
        assert!(last.instant() > Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn an_instant_survives_the_round_trip() {
        let at = Instant::now() + Duration::from_nanos(1_234_567);
        assert_eq!(Deadline::at(at).instant(), at);
        assert_eq!(
            Deadline::at(at).remaining(),
            Duration::from_nanos(1_234_567)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn this_very_instant_is_expired_and_has_nothing_left() {
        let now = Deadline::now();
        assert!(now.is_expired());
        assert_eq!(now.remaining(), Duration::ZERO);
        assert!(!now.plus(Duration::from_nanos(1)).is_expired());
    }

    #[test]
    fn no_limit_never_wins_over_a_limit() {
        let a = Deadline::now();
        let b = a.plus(Duration::from_secs(1));
        assert_eq!(Deadline::earlier(Some(a), Some(b)), Some(a));
        assert_eq!(Deadline::earlier(None, Some(b)), Some(b));
        assert_eq!(Deadline::earlier(Some(a), None), Some(a));
        assert_eq!(Deadline::earlier(None, None), None);
    }
}
