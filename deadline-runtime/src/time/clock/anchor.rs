//! [`Anchor`]: the counter and the system's clock at the same moment, and how far they have parted since.

use std::time::Duration;

use tokio::time::Instant;

use crate::time::{LONGEST, nanos};

/// The clocks were read at the same moment when that took no more nanoseconds than this.
pub(super) const AT_ONCE: u64 = 5_000;

/// So often it is tried to read them at the same moment.
const TRIES: usize = 4;

/// The clocks may part by so many nanoseconds besides a thousandth: a thread may lose its turn between two reads.
const SLACK: u64 = 10_000_000;

/// Both clocks at the same moment.
#[derive(Clone, Copy)]
pub(super) struct Anchor {
    pub(super) instant: Instant,
    pub(super) count: u64,
}

impl Anchor {
    /// With how many nanoseconds it took, by half of which it may be wrong.
    pub(super) fn take(count: impl Fn() -> u64) -> (u64, Self) {
        let once = || {
            let before = count();
            let instant = Instant::now();
            let took = count().saturating_sub(before);
            let anchor = Self {
                instant,
                count: before + took / 2,
            };
            (took, anchor)
        };
        let mut best = once();
        for _ in 1..TRIES {
            if best.0 <= AT_ONCE {
                break;
            }
            let next = once();
            if next.0 < best.0 {
                best = next;
            }
        }
        best
    }

    /// The count at `instant`.
    pub(super) fn count(self, instant: Instant) -> u64 {
        let later = instant.saturating_duration_since(self.instant);
        let earlier = self.instant.saturating_duration_since(instant);
        self.count
            .saturating_add(nanos(later))
            .saturating_sub(nanos(earlier))
    }

    /// When it is `count`.
    pub(super) fn instant(self, count: u64) -> Instant {
        let later = Duration::from_nanos(count.saturating_sub(self.count));
        let earlier = Duration::from_nanos(self.count.saturating_sub(count));
        self.instant
            .checked_add(later)
            .unwrap_or_else(|| self.instant + LONGEST)
            .checked_sub(earlier)
            .unwrap_or(self.instant)
    }

    /// By how much the clocks have parted from here to `last`, if that is more than a thousandth and [`SLACK`].
    pub(super) fn parted(self, last: Self) -> Option<Duration> {
        let system = nanos(last.instant.saturating_duration_since(self.instant));
        let apart = self.count(last.instant).abs_diff(last.count);
        (apart > (system / 1_000).saturating_add(SLACK)).then(|| Duration::from_nanos(apart))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const START: u64 = nanos(LONGEST);

    fn anchor(count: u64) -> Anchor {
        let instant = Instant::now();
        Anchor { instant, count }
    }

    /// So many nanoseconds later by either clock.
    fn later(anchor: Anchor, system: u64, count: i64) -> Anchor {
        Anchor {
            instant: anchor.instant + Duration::from_nanos(system),
            count: anchor.count.saturating_add_signed(count),
        }
    }

    #[test]
    fn an_anchor_counts_both_ways_and_clamps() {
        let anchor = anchor(START);
        let minute = Duration::from_secs(60);
        assert_eq!(anchor.count(anchor.instant + minute), START + nanos(minute));
        assert_eq!(
            anchor.instant(START + nanos(minute)),
            anchor.instant + minute
        );
        let Some(before) = anchor.instant.checked_sub(minute) else {
            return;
        };
        assert_eq!(anchor.count(before), START - nanos(minute));
        assert_eq!(anchor.instant(START - nanos(minute)), before);
        let early = Anchor { count: 5, ..anchor };
        assert_eq!(early.count(before), 0);
        assert!(anchor.instant(u64::MAX) >= anchor.instant + LONGEST);
        assert!(anchor.instant(0) <= anchor.instant);
    }

    /// Slewing is half a thousandth at most.
    #[test]
    fn clocks_that_are_slewed_have_not_parted_and_those_that_leap_have() {
        let first = anchor(START);
        let hour = 3_600_000 * MS;
        for (system, count, apart) in [
            (hour, 3_601_800 * 1_000_000, None),
            (hour, 3_598_200 * 1_000_000, None),
            (hour, 3_604_000 * 1_000_000, Some(4_000)),
            (hour, 0, Some(3_600_000)),
            (hour, -1_000_000, Some(3_600_001)),
            (0, -3_600_000 * 1_000_000, Some(3_600_000)),
            (100 * MS, 109 * 1_000_000, None),
            (100 * MS, 120 * 1_000_000, Some(20)),
            (0, 3_600_000 * 1_000_000, Some(3_600_000)),
        ] {
            let last = later(first, system, count);
            assert_eq!(first.parted(last), apart.map(Duration::from_millis));
        }
    }
}
