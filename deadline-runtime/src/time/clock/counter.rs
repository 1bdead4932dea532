//! The counter of the processor, which costs a third of what the system's clock does.
//!
//! It was calibrated once and is never told what time it is, while the system's monotonic clock, which tokio's timers run by, is
//! slewed by NTP: the two go apart, by some ten millionths at first and without end. So nothing is converted between them by a
//! difference that was taken once. An [`Anchor`] is both clocks read at the same moment, it is used for [`FRESH`] and on its thread
//! only, and instants are counted from there. Within that time the clocks part by some microseconds, which is less than timers can
//! tell.
//!
//! * A stop is decided by the counter alone. A timer is when to look again, never a proof.
//! * A timer may thus go off before the counter says that it is over: it is set anew, for what the counter says is left, and since
//!   tokio rounds up to whole milliseconds nothing spins. It may go off later by what the clocks part while it runs.
//! * A counter that goes wrong (a calibration that was interrupted, a machine that was suspended, a virtual one that was moved) is
//!   found out when the next anchor is taken, which also a timer that goes off does: once the clocks have parted by more than
//!   [a thousandth](parted) the system's clock is read for the rest of the process. The count goes on from the later of the two, so
//!   that it never goes back and a scope is never left without an end.
//! * tokio's paused clock cannot be followed: that takes the feature `test-util`. It is noticed at a thread's first anchor, where
//!   tokio's clock stands still, and said once for each thread.

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::scope::TARGET;
use crate::time::{LONGEST, Short, nanos};

/// The count where the process starts, so that instants before that have one as well.
const START: u64 = nanos(LONGEST);

/// How many nanoseconds an anchor is used.
const FRESH: u64 = 100_000_000;

/// The clocks were read at the same moment when that took no more nanoseconds than this.
const AT_ONCE: u64 = 1_000;

/// So often it is tried to read them at the same moment.
const TRIES: usize = 4;

/// The clocks may part by so many nanoseconds besides a thousandth: a thread may lose its turn between two reads.
const SLACK: u64 = 10_000_000;

/// A clock that stands still for so many nanoseconds is paused. The coarsest of running ones move every few milliseconds.
const STANDS: u64 = 20_000_000;

/// Both clocks at the same moment.
#[derive(Clone, Copy)]
struct Anchor {
    instant: Instant,
    count: u64,
}

struct Clocks {
    counter: quanta::Clock,
    /// What the counter showed at first.
    start: u64,
    first: Anchor,
}

/// Calibrated by who asks first, which takes less than a millisecond as a rule and a fifth of a second at most.
static CLOCKS: LazyLock<Clocks> = LazyLock::new(|| {
    let counter = quanta::Clock::new();
    let start = counter.raw();
    let first = Anchor::take(|| counted(&counter, start));
    Clocks {
        counter,
        start,
        first,
    }
});

/// Zero while the counter is believed; from then on the count at the first anchor's instant, from where the system's clock
/// counts.
static MISTRUSTED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static ANCHOR: Cell<Option<Anchor>> = const { Cell::new(None) };
}

/// The count at this moment.
#[inline]
pub(in crate::time) fn now() -> u64 {
    let clocks = &*CLOCKS;
    match MISTRUSTED.load(Ordering::Relaxed) {
        0 => clocks.count(),
        count => clocks.system(count).count(Instant::now()),
    }
}

/// The count at `instant`, as the clocks stand to each other now; instants too far away to count are clamped.
pub(in crate::time) fn count(instant: Instant) -> u64 {
    anchor().count(instant)
}

/// When the count will be, or was, `count`, as the clocks stand to each other now.
pub(in crate::time) fn instant(count: u64) -> Instant {
    anchor().instant(count)
}

impl Clocks {
    #[inline]
    fn count(&self) -> u64 {
        counted(&self.counter, self.start)
    }

    /// Where the system's clock is counted from.
    fn system(&self, count: u64) -> Anchor {
        Anchor {
            instant: self.first.instant,
            count,
        }
    }
}

#[inline]
fn counted(counter: &quanta::Clock, start: u64) -> u64 {
    START + counter.delta_as_nanos(start, counter.raw())
}

fn anchor() -> Anchor {
    let clocks = &*CLOCKS;
    let mistrusted = MISTRUSTED.load(Ordering::Relaxed);
    if mistrusted != 0 {
        return clocks.system(mistrusted);
    }
    match ANCHOR.get() {
        // A count that went back wraps, and is not fresh.
        Some(anchor) if clocks.count().wrapping_sub(anchor.count) < FRESH => anchor,
        last => anew(clocks, last),
    }
}

#[cold]
fn anew(clocks: &Clocks, last: Option<Anchor>) -> Anchor {
    let anchor = Anchor::take(|| clocks.count());
    if last.is_none() && stands(clocks, anchor) {
        say_paused();
    }
    let since = last.unwrap_or(clocks.first);
    // Since the last one for a leap, since the first one for a rate.
    let apart = since.parted(anchor).or(clocks.first.parted(anchor));
    if let Some(apart) = apart {
        return mistrust(clocks, since, anchor, apart);
    }
    ANCHOR.set(Some(anchor));
    anchor
}

impl Anchor {
    fn take(count: impl Fn() -> u64) -> Self {
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
        best.1
    }

    fn count(self, instant: Instant) -> u64 {
        match instant.checked_duration_since(self.instant) {
            Some(later) => self.count.saturating_add(nanos(later)),
            None => {
                let earlier = self.instant.saturating_duration_since(instant);
                self.count.saturating_sub(nanos(earlier))
            }
        }
    }

    fn instant(self, count: u64) -> Instant {
        let (later, earlier) = (
            count.saturating_sub(self.count),
            self.count.saturating_sub(count),
        );
        self.instant
            .checked_add(Duration::from_nanos(later))
            .unwrap_or_else(|| self.instant + LONGEST)
            .checked_sub(Duration::from_nanos(earlier))
            .unwrap_or(self.instant)
    }

    /// By how much the clocks have parted from here to `last`, if that is more than a thousandth and [`SLACK`].
    fn parted(self, last: Self) -> Option<Duration> {
        let system = nanos(last.instant.saturating_duration_since(self.instant));
        let apart = last.count.saturating_sub(self.count).abs_diff(system);
        (apart > (system / 1_000).saturating_add(SLACK)).then(|| Duration::from_nanos(apart))
    }
}

/// Reads the system's clock from here on: as if it had been read since the anchor before, or later if the counter is ahead.
fn mistrust(clocks: &Clocks, since: Anchor, anchor: Anchor, apart: Duration) -> Anchor {
    let count = since.count(anchor.instant).max(anchor.count);
    let first = Anchor { count, ..anchor }.count(clocks.first.instant);
    // Not zero, which means trust; others may have come to it at the same time.
    let begun = MISTRUSTED.compare_exchange(0, first.max(1), Ordering::Relaxed, Ordering::Relaxed);
    if begun.is_ok() {
        tracing::warn!(
            target: TARGET,
            apart = %Short(apart),
            "the processor's counter and the system's clock have parted: `fast-clock` reads the system's from here on"
        );
    }
    clocks.system(begun.map_or_else(|theirs| theirs, |_| first.max(1)))
}

/// Whether tokio's clock has not moved since, which a running one does at once.
fn stands(clocks: &Clocks, since: Anchor) -> bool {
    let mut reads = 0;
    while Instant::now() == since.instant {
        reads += 1;
        if reads > 1_000 && clocks.count().saturating_sub(since.count) > STANDS {
            return true;
        }
    }
    false
}

/// On standard error as well: who pauses the clock is a test, and tests have no subscriber.
fn say_paused() {
    const PAUSED: &str = "tokio's clock is paused, but `fast-clock` of deadline-runtime reads the processor's counter, which goes on: \
        enable its feature `test-util` for tests, as in `deadline-runtime = { …, features = [\"test-util\"] }` under [dev-dependencies]";
    tracing::error!(target: TARGET, "{PAUSED}");
    eprintln!("{PAUSED}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

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
            (hour, -1_000_000, Some(3_600_000)),
            (100 * MS, 109 * 1_000_000, None),
            (100 * MS, 120 * 1_000_000, Some(20)),
            (0, 3_600_000 * 1_000_000, Some(3_600_000)),
        ] {
            let last = later(first, system, count);
            assert_eq!(first.parted(last), apart.map(Duration::from_millis));
        }
    }
}
