//! [`Latency`]: how long a dependency took lately.
//!
//! A histogram of microseconds with 32 steps for each power of two, so that a percentile is at most 3.2 % too high and the
//! memory is the same however much is recorded. There are two windows: one is filled, the one before it is kept, and
//! percentiles are those of both, so that they neither forget everything at once nor remember for ever.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::{Deadline, Short};

/// log2 of the steps for each power of two.
const STEP_BITS: u32 = 5;
const STEPS: u64 = 1 << STEP_BITS;
/// A year of microseconds has 45 bits.
const BUCKETS: usize = 1_344;

/// How long a dependency took lately, for [`Hedge::percentile`](super::Hedge::percentile).
///
/// Make one for each dependency and keep it beside its client; clones are the same. It takes about 11 kB, whatever is
/// recorded, and covers one to two windows of time.
///
/// A hedge records the attempts that succeeded. Of the losers it records how long they had been out when they were stopped, which is
/// less than they would have taken: left out, every hedge that wins would make the dependency look faster than it is.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::hedge::Latency;
///
/// let latency = Latency::new(Duration::from_secs(30));
/// for millis in 1..=100 {
///     latency.record(Duration::from_millis(millis));
/// }
/// let p95 = latency.percentile(95).unwrap();
/// assert!(p95 >= Duration::from_millis(95) && p95 < Duration::from_millis(99));
/// ```
#[derive(Clone)]
pub struct Latency(Arc<Inner>);

struct Inner {
    window: Duration,
    least: u64,
    windows: Mutex<Windows>,
}

struct Windows {
    since: Deadline,
    filled: Window,
    before: Window,
}

struct Window {
    count: u64,
    buckets: Box<[u32; BUCKETS]>,
}

impl Latency {
    /// Forgets after `window` to twice that. Percentiles are known from 20 records on.
    #[must_use]
    pub fn new(window: Duration) -> Self {
        Self::with_least(window, 20)
    }

    /// As `new`; percentiles are known from `least` records on.
    #[must_use]
    pub fn with_least(window: Duration, least: u32) -> Self {
        Self(Arc::new(Inner {
            window,
            least: u64::from(least.max(1)),
            windows: Mutex::new(Windows {
                since: Deadline::now(),
                filled: Window::empty(),
                before: Window::empty(),
            }),
        }))
    }

    /// Records one.
    pub fn record(&self, latency: Duration) {
        self.windows().filled.record(latency);
    }

    /// The time within which `percent` of those in memory were done; `None` as long as too few are known. More than 100 counts as 100.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let windows = self.windows();
        let all = [&windows.filled, &windows.before];
        let count: u64 = all.iter().map(|window| window.count).sum();
        if count < self.0.least {
            return None;
        }
        let rank = count * u64::from(percent.min(100));
        let rank = rank.div_ceil(100).max(1);
        let mut seen = 0_u64;
        for (index, _) in windows.filled.buckets.iter().enumerate() {
            seen += all
                .iter()
                .map(|window| u64::from(window.buckets[index]))
                .sum::<u64>();
            if seen >= rank {
                return Some(longest_in(index));
            }
        }
        None
    }

    fn windows(&self) -> MutexGuard<'_, Windows> {
        let mut windows = self
            .0
            .windows
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        windows.rotate(self.0.window);
        windows
    }
}

/// `Latency(p50 12ms, p99 80ms)`
impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.percentile(50), self.percentile(99)) {
            (Some(p50), Some(p99)) => {
                write!(f, "Latency(p50 {}, p99 {})", Short(p50), Short(p99))
            }
            _ => f.write_str("Latency(too few are known)"),
        }
    }
}

impl Windows {
    fn rotate(&mut self, window: Duration) {
        let now = Deadline::now();
        let age = now.since(self.since);
        if age < window {
            return;
        }
        std::mem::swap(&mut self.filled, &mut self.before);
        self.filled.clear();
        if age >= window.saturating_mul(2) {
            self.before.clear();
        }
        self.since = now;
    }
}

impl Window {
    fn empty() -> Self {
        Self {
            count: 0,
            buckets: Box::new([0; BUCKETS]),
        }
    }

    fn clear(&mut self) {
        self.count = 0;
        self.buckets.fill(0);
    }

    fn record(&mut self, latency: Duration) {
        if let Some(bucket) = self.buckets.get_mut(index_of(latency)) {
            // A full bucket drops what comes, from the count as well.
            if let Some(more) = bucket.checked_add(1) {
                *bucket = more;
                self.count += 1;
            }
        }
    }
}

/// Which bucket a latency belongs to; very long ones share the last.
fn index_of(latency: Duration) -> usize {
    let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    let shift = micros
        .checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(STEP_BITS);
    // Of the highest bits the first is always set, so that each power of two begins where the one before ends.
    let index = u64::from(shift) * STEPS + (micros >> shift);
    usize::try_from(index).map_or(BUCKETS - 1, |index| index.min(BUCKETS - 1))
}

/// The longest latency that belongs to a bucket.
fn longest_in(index: usize) -> Duration {
    let index = u64::try_from(index).unwrap_or(0);
    let shift = (index / STEPS).saturating_sub(1);
    let highest = index - shift * STEPS;
    Duration::from_micros(((highest + 1) << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_at_most_a_thirty_second_too_high() {
        let mut last = 0;
        for micros in (0..100_000).chain((17..45).map(|bits| (1 << bits) + 12_345)) {
            let latency = Duration::from_micros(micros);
            let index = index_of(latency);
            assert!(index >= last && index < BUCKETS, "{micros}");
            last = index;
            let longest = longest_in(index);
            assert!(longest >= latency, "{micros}: {longest:?}");
            assert!(longest <= latency + latency / 32, "{micros}: {longest:?}");
        }
        assert_eq!(index_of(Duration::MAX), BUCKETS - 1);
    }

    #[tokio::test(start_paused = true)]
    async fn percentiles_are_those_of_one_to_two_windows() {
        let latency = Latency::with_least(Duration::from_secs(10), 2);
        let micros = Duration::from_micros;
        assert_eq!(latency.percentile(50), None);
        latency.record(micros(10));
        assert_eq!(latency.percentile(50), None);
        latency.record(micros(20));
        assert_eq!(latency.percentile(50), Some(micros(10)));
        assert_eq!(latency.percentile(51), Some(micros(20)));
        assert_eq!(latency.percentile(0), Some(micros(10)));
        assert_eq!(latency.percentile(255), Some(micros(20)));
        tokio::time::sleep(Duration::from_secs(10)).await;
        latency.record(micros(30));
        assert_eq!(latency.percentile(100), Some(micros(30)));
        assert_eq!(latency.percentile(1), Some(micros(10)), "the window before");
        tokio::time::sleep(Duration::from_secs(10)).await;
        latency.record(micros(31));
        assert_eq!(latency.percentile(1), Some(micros(30)));
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(latency.percentile(50), None);
    }
}
