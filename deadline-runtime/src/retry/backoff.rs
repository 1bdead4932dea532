//! [`Backoff`]: how long to wait before another attempt.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use fastrand::Rng;

use crate::time::{LONGEST, SHORTEST};

/// How long to wait before another attempt.
///
/// Exponential, from `base` by a factor of 2 up to `most`, with full jitter: the wait is drawn anew each time, evenly from everything up to
/// the exponential delay, which is what keeps clients that failed together from coming back together ("Exponential Backoff
/// And Jitter", AWS). A wait is never shorter than the timers' millisecond, unless the base is or no wait was asked for.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::retry::Backoff;
///
/// const GENTLE: Backoff = Backoff::exponential(Duration::from_millis(20), Duration::from_secs(2)).factor(1.5);
/// const STEADY: Backoff = Backoff::fixed(Duration::from_millis(5));
/// # let _ = (GENTLE, STEADY);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    base: Duration,
    factor: f32,
    most: Duration,
    jitter: Jitter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jitter {
    None,
    Full,
    Seeded(u64),
}

impl Backoff {
    /// 10 ms, 20 ms, 40 ms … up to 1 s, with full jitter.
    pub(super) const DEFAULT: Self =
        Self::exponential(Duration::from_millis(10), Duration::from_secs(1));

    /// From `base`, twice as long each time, at most `most`; with full jitter.
    #[must_use]
    pub const fn exponential(base: Duration, most: Duration) -> Self {
        Self {
            base,
            factor: 2.0,
            most,
            jitter: Jitter::Full,
        }
    }

    /// The same wait each time, without jitter.
    #[must_use]
    pub const fn fixed(wait: Duration) -> Self {
        Self {
            base: wait,
            factor: 1.0,
            most: wait,
            jitter: Jitter::None,
        }
    }

    /// No wait at all. The next attempt begins after one turn of the scheduler.
    #[must_use]
    pub const fn none() -> Self {
        Self::fixed(Duration::ZERO)
    }

    /// What the delay grows by, 2 unless said otherwise. A factor that would let it shrink, or that is no number, counts as 1.
    #[must_use]
    pub const fn factor(mut self, factor: f32) -> Self {
        self.factor = match factor {
            f32::INFINITY => f32::MAX,
            factor if factor >= 1.0 => factor,
            _ => 1.0,
        };
        self
    }

    /// Waits exactly as long as the delay is.
    #[must_use]
    pub const fn without_jitter(mut self) -> Self {
        self.jitter = Jitter::None;
        self
    }

    /// Draws the same waits each time, for tests.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.jitter = Jitter::Seeded(seed);
        self
    }

    pub(super) fn waits(&self) -> Waits {
        // The first delay is handed out as it is, whatever the most is; neither jitter nor the total are asked for, which
        // can overflow.
        let delays = ExponentialBuilder::new()
            .with_min_delay(self.base.min(self.most).min(LONGEST))
            .with_factor(self.factor)
            .with_max_delay(self.most.min(LONGEST))
            .without_max_times()
            .build();
        let draw = match self.jitter {
            Jitter::None => None,
            Jitter::Full => Some(Rng::new()),
            Jitter::Seeded(seed) => Some(Rng::with_seed(seed)),
        };
        Waits { delays, draw }
    }
}

impl Default for Backoff {
    /// 10 ms, 20 ms, 40 ms … up to 1 s, with full jitter.
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The waits of one retry, in order.
pub(super) struct Waits {
    delays: ExponentialBackoff,
    draw: Option<Rng>,
}

impl Waits {
    pub(super) fn next(&mut self) -> Duration {
        let delay = whole(self.delays.next().unwrap_or(LONGEST));
        let Some(draw) = &mut self.draw else {
            return delay;
        };
        let most = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        let least = u64::try_from(SHORTEST.min(delay).as_nanos()).unwrap_or(0);
        Duration::from_nanos(draw.u64(least..=most))
    }
}

/// Delays are multiplied as floats of seconds, which leaves crumbs; timers know milliseconds.
fn whole(delay: Duration) -> Duration {
    if delay < SHORTEST {
        return delay;
    }
    let millis = delay.saturating_add(SHORTEST / 2).as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(10);
    const MOST: Duration = Duration::from_secs(30);

    fn nth(backoff: Backoff, n: usize) -> Duration {
        let mut waits = backoff.waits();
        for _ in 1..n {
            waits.next();
        }
        waits.next()
    }

    #[test]
    fn late_attempts_wait_the_most_and_never_nothing() {
        for factor in [2.0, 10.0, f32::INFINITY] {
            for n in [31, 32, 33, 63, 64, 65, 1_000] {
                let backoff = Backoff::exponential(BASE, MOST).factor(factor);
                assert_eq!(
                    nth(backoff.without_jitter(), n),
                    MOST,
                    "{factor}, attempt {n}"
                );
                for seed in 0..50 {
                    let wait = nth(backoff.seed(seed), n);
                    assert!(
                        wait >= SHORTEST && wait <= MOST,
                        "{factor}, attempt {n}: {wait:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_longest_durations_are_the_most_from_the_first_wait_on() {
        for n in [1, 2, 32, 1_000] {
            let capped = Backoff::exponential(Duration::MAX, MOST).factor(10.0);
            assert_eq!(nth(capped.without_jitter(), n), MOST);
            let longest = Backoff::exponential(Duration::MAX, Duration::MAX).factor(10.0);
            assert_eq!(nth(longest.without_jitter(), n), LONGEST);
            assert!(nth(longest.seed(7), n) <= LONGEST);
        }
    }

    #[test]
    fn a_factor_below_one_or_no_number_never_lets_a_wait_shrink() {
        for factor in [0.5, 0.0, -1.0, f32::NAN, f32::NEG_INFINITY] {
            let backoff = Backoff::exponential(BASE, MOST)
                .factor(factor)
                .without_jitter();
            for n in [1, 2, 64, 1_000] {
                assert_eq!(nth(backoff, n), BASE, "{factor}, attempt {n}");
            }
        }
    }

    #[test]
    fn delays_grow_in_whole_milliseconds() {
        let mut waits = Backoff::exponential(Duration::from_millis(300), MOST)
            .without_jitter()
            .waits();
        let first: Vec<_> = (0..8).map(|_| waits.next().as_nanos()).collect();
        let expected = [300, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 30_000];
        assert_eq!(first, expected.map(|millis| millis * 1_000_000));
        let mut waits = Backoff::default().without_jitter().waits();
        let all: Vec<_> = (0..9).map(|_| waits.next().as_millis()).collect();
        assert_eq!(all, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    }

    #[test]
    fn jitter_is_even_up_to_the_delay_and_repeats_with_its_seed() {
        let drawn = |seed| {
            let mut waits = Backoff::exponential(MOST, MOST).seed(seed).waits();
            (0..1_000).map(|_| waits.next()).collect::<Vec<_>>()
        };
        let all = drawn(1);
        assert_eq!(all, drawn(1));
        assert_ne!(all, drawn(2));
        let below_half = all.iter().filter(|wait| **wait < MOST / 2).count();
        assert!((400..600).contains(&below_half), "{below_half} of 1000");
        assert!(all.iter().all(|wait| !wait.is_zero() && *wait <= MOST));
    }

    #[test]
    fn no_wait_is_none_only_where_it_was_asked_for() {
        assert_eq!(nth(Backoff::none(), 64), Duration::ZERO);
        assert_eq!(
            nth(Backoff::fixed(Duration::from_micros(300)), 64),
            Duration::from_micros(300)
        );
        let zero = Backoff::exponential(Duration::ZERO, MOST);
        assert_eq!(nth(zero, 64), Duration::ZERO);
    }
}
