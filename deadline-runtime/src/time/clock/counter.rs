//! The counter of the processor, which costs a third of what the system's clock does.
//!
//! It was calibrated once and is never told what time it is, while the system's monotonic clock, which tokio's timers run by, is
//! slewed by NTP: the two go apart, by some ten parts in a million and without end. So nothing is converted between them by a
//! difference that was taken once. An [`Anchor`] is both clocks read at the same moment; it is used for [`FRESH`], on its thread and
//! for instants that are not [`NEAR`]. Within that time the clocks part by some microseconds, which is less than timers can tell.
//!
//! * A stop is decided by the counter alone. A timer is when to look again, never a proof.
//! * A timer may thus go off before the counter says that it is over: it is set anew for what is left, by a new anchor because that
//!   is near, and so does not spin. It may go off later by what the clocks part while it runs.
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

use super::anchor::{AT_ONCE, Anchor};
use crate::scope::TARGET;
use crate::time::{LONGEST, Short, nanos};

/// The count where the process starts, so that instants before that have one as well.
const START: u64 = nanos(LONGEST);

/// How many nanoseconds an anchor is used.
const FRESH: u64 = 100_000_000;

/// An instant that lies nearer than so many nanoseconds is nearer than the clocks may have parted since an anchor.
const NEAR: u64 = 200_000;

/// A clock that stands still for so many nanoseconds is paused. The coarsest of running ones move every few milliseconds.
const STANDS: u64 = 20_000_000;

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
    let (_, first) = Anchor::take(|| counted(&counter, start));
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
    anchor(None).count(instant)
}

/// When the count will be, or was, `count`, as the clocks stand to each other now.
pub(in crate::time) fn instant(count: u64) -> Instant {
    anchor(Some(count)).instant(count)
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

/// An anchor that is good enough to convert the instant with the count `of`.
fn anchor(of: Option<u64>) -> Anchor {
    let clocks = &*CLOCKS;
    let mistrusted = MISTRUSTED.load(Ordering::Relaxed);
    if mistrusted != 0 {
        return clocks.system(mistrusted);
    }
    let now = clocks.count();
    let is_near = of.is_some_and(|of| of.abs_diff(now) < NEAR);
    match ANCHOR.get() {
        // A count that went back wraps, and is not fresh.
        Some(anchor) if !is_near && now.wrapping_sub(anchor.count) < FRESH => anchor,
        last => anew(clocks, last),
    }
}

#[cold]
fn anew(clocks: &Clocks, last: Option<Anchor>) -> Anchor {
    let (took, anchor) = Anchor::take(|| clocks.count());
    if last.is_none() && stands(clocks, anchor) {
        say_paused();
    }
    let since = last.unwrap_or(clocks.first);
    // Since the last one for a leap, since the first one for a rate.
    let apart = since.parted(anchor).or(clocks.first.parted(anchor));
    if let Some(apart) = apart {
        return mistrust(clocks, since, anchor, apart);
    }
    if took <= AT_ONCE || last.is_none() {
        ANCHOR.set(Some(anchor));
    }
    anchor
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
    use std::future::{pending, poll_fn};
    use std::process::Command;
    use std::task::Poll;

    use super::*;
    use crate::{Cause, Context, Deadline, timeout};

    /// Sets an anchor by which instants are so much too early.
    fn be_early(by: Duration) {
        let (_, anchor) = Anchor::take(now);
        let instant = anchor.instant.checked_sub(by).unwrap();
        ANCHOR.set(Some(Anchor { instant, ..anchor }));
    }

    #[test]
    fn what_is_near_is_counted_from_a_new_anchor() {
        let off = Duration::from_micros(150);
        be_early(off);
        let second = Duration::from_secs(1);
        let at = now() + nanos(second);
        assert!(instant(at) + off / 2 < Instant::now() + second);
        let start = Instant::now();
        let near = now() + nanos(off);
        assert!(instant(near) + Duration::from_nanos(AT_ONCE) >= start + off);
    }

    /// The anchor says that each timer is over a little before the counter does.
    #[tokio::test]
    async fn a_timer_that_is_early_is_set_anew_and_does_not_spin() {
        let mut polls = 0;
        for _ in 0..50 {
            be_early(Duration::from_micros(190));
            let forever = poll_fn(|_| {
                polls += 1;
                Poll::<()>::Pending
            });
            let start = now();
            let stopped = timeout(Duration::from_millis(3), forever)
                .await
                .unwrap_err();
            assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
            assert!(now() - start >= 3_000_000);
        }
        assert!(polls <= 50 * 5, "{polls} polls");
    }

    /// In a process of its own, because from then on the counter is not read any more.
    #[test]
    fn a_counter_that_goes_back_is_not_read_any_more_and_the_count_goes_on() {
        const NAME: &str = "time::clock::counter::tests::a_counter_that_goes_back_is_not_read_any_more_and_the_count_goes_on";
        const ALONE: &str = "DEADLINE_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let this = std::env::current_exe().unwrap();
            let alone = Command::new(this)
                .args([NAME, "--exact"])
                .env(ALONE, "1")
                .output()
                .unwrap();
            let output = String::from_utf8_lossy(&alone.stdout);
            assert!(
                alone.status.success() && output.contains("1 passed"),
                "{output}"
            );
            return;
        }
        let hour = nanos(Duration::from_secs(3_600));
        let end = now() + hour + 30_000_000;
        // As if the counter had shown an hour more just now.
        let (_, mut more) = Anchor::take(now);
        more.count += hour;
        ANCHOR.set(Some(more));
        let start = Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let stopped = runtime.block_on(async {
            let cx = Context::builder("request")
                .deadline(Deadline::from_bits(end).unwrap())
                .build();
            cx.run(pending::<()>()).await.unwrap_err()
        });
        assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(25), "{took:?}");
        assert!(took < Duration::from_secs(60), "{took:?}");
        assert_ne!(MISTRUSTED.load(Ordering::Relaxed), 0);
        let system = Instant::now();
        assert!(instant(now()).duration_since(system) < Duration::from_secs(1));
        assert_eq!(count(instant(end)), end);
    }
}
