//! [`Pace`]: the checkpoint of a loop.
//!
//! In a loop that never gives its thread away no timer fires, so the checkpoint has to read the clock itself; and a read of
//! the clock costs more than many an iteration. A loop therefore looks (at the clock, and for a cancel) in every iteration
//! only while an iteration costs [`DEAR`] or more. Otherwise it skips some, as many as take some [`SPAN`] at the cost that was
//! measured at the last look, and looks earlier when the [tick](alarm::tick) of the process has changed, which it does every
//! millisecond. What an iteration has cost so far says nothing of the next one, so without that tick nothing is skipped.
//!
//! A stop is therefore seen one iteration and one tick after it has happened at the latest; where iterations are dear, or cost
//! what they have cost before, one iteration or [`SPAN`].

use std::panic::Location;

use super::alarm;
use crate::context::current;
use crate::stop::{Phase, Stopped};
use crate::time::Deadline;

/// An iteration that takes so many nanoseconds may read the clock as well.
const DEAR: u64 = 1_000;

/// How many nanoseconds the iterations that are skipped may take together.
const SPAN: u64 = 20_000;

/// After so many iterations that were worth skipping, and were not skipped for lack of a tick, somebody has to tick.
const WORTH_A_TICK: u16 = 256;

/// At most so many times as many iterations are skipped as before.
const GROWTH: u64 = 64;

/// When a loop looks whether it is stopped.
#[derive(Debug)]
pub struct Pace {
    /// When it looked last; `None` where that was not asked.
    looked: Option<Deadline>,
    /// The tick at that time.
    tick: u32,
    /// So many iterations more need not look, unless the tick changes.
    left: u16,
    /// How many there were after the last look; without a tick how many could have been skipped so far.
    skipped: u16,
}

impl Pace {
    /// Of a loop that begins: the first iteration looks.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::new_without_default, reason = "part of the expansion")]
    pub const fn new() -> Self {
        Self {
            looked: None,
            tick: 0,
            left: 0,
            skipped: 0,
        }
    }

    /// The stop of the running scope, if it is stopped; `None` outside any scope.
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    #[must_use]
    pub fn checkpoint(&mut self) -> Option<Stopped> {
        if self.left != 0 && alarm::tick() == self.tick {
            self.left -= 1;
            return None;
        }
        // By value, so that it can stay in registers while nothing is looked at.
        let (next, stopped) = look(Self { ..*self }, Location::caller());
        *self = next;
        stopped
    }

    /// After a look at `now`, at which the tick was `tick`; the scope has `left` nanoseconds left.
    fn after(&self, now: Deadline, tick: u32, left: u64) -> Self {
        let iterations = if self.tick == 0 {
            1
        } else {
            u64::from(self.skipped - self.left) + 1
        };
        let took = self
            .looked
            .map_or(0, |looked| now.to_bits().saturating_sub(looked.to_bits()));
        let each = took / iterations;
        // A clock that stands still is one that a test moves.
        let skipped = if took == 0 || each >= DEAR {
            0
        } else if tick == 0 {
            if self.tick == 0 {
                self.skipped.saturating_add(1)
            } else {
                1
            }
        } else {
            let skipped = left.min(SPAN) / each.max(1);
            let most = (iterations + 1).saturating_mul(GROWTH);
            u16::try_from(skipped.min(most)).unwrap_or(u16::MAX)
        };
        Self {
            looked: Some(now),
            tick,
            left: if tick == 0 { 0 } else { skipped },
            skipped,
        }
    }
}

#[cold]
#[inline(never)]
#[allow(
    clippy::needless_pass_by_value,
    reason = "by reference it would have to lie in memory"
)]
fn look(pace: Pace, location: &'static Location<'static>) -> (Pace, Option<Stopped>) {
    crate::trip::tick();
    crate::trip::count();
    // Before the look: a tick in the meantime leads to another one.
    let tick = alarm::tick();
    let looked = current::with_below(|frame, below| {
        if !frame.mode.enforces() {
            return (Pace::new(), None);
        }
        let now = Deadline::now();
        let next = if crate::trip::is_set(frame) {
            Pace::new()
        } else {
            let soft = frame.limits.soft;
            let left = soft.map_or(u64::MAX, |soft| {
                soft.to_bits().saturating_sub(now.to_bits())
            });
            pace.after(now, tick, left)
        };
        let Some(cause) = frame.stopped(|| now) else {
            return (next, None);
        };
        let stopped = frame.stop_error(cause, Phase::Compute, now, location, frame.path(&below));
        frame.note_stop(&stopped);
        (next, Some(stopped))
    });
    let (next, stopped) = looked.unwrap_or((Pace::new(), None));
    if next.left != 0 {
        alarm::ask_for_ticks();
    } else if next.skipped >= WORTH_A_TICK {
        alarm::start_ticks();
    }
    (next, stopped)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Budget, Cause, Context};

    const LONG: u64 = 1_000_000_000;

    /// A pace after looks that lay so many nanoseconds apart.
    fn paced(tick: u32, apart: &[u64]) -> Pace {
        let mut now = Deadline::now();
        let mut pace = Pace::new().after(now, tick, LONG);
        for nanos in apart {
            now = now.later(*nanos);
            pace.left = 0;
            pace = pace.after(now, tick, LONG);
        }
        pace
    }

    #[test]
    fn cheap_iterations_are_skipped_once_somebody_ticks() {
        assert_eq!(paced(1, &[]).left, 0);
        assert_eq!(paced(1, &[40]).left, 128);
        // 129 of them took 516 ns: 20 microseconds are 5,000.
        assert_eq!(paced(1, &[40, 516]).left, 5_000);
        assert_eq!(paced(0, &[40]).left, 0);
        let mut pace = paced(0, &[40; 255]);
        assert_eq!((pace.left, pace.skipped), (0, WORTH_A_TICK - 1));
        pace = pace.after(Deadline::now(), 0, LONG);
        assert_eq!(pace.left, 0);
    }

    #[test]
    fn dear_iterations_and_those_of_a_standing_clock_all_look() {
        assert_eq!(paced(1, &[DEAR]).left, 0);
        assert_eq!(paced(1, &[40, 516, 5_001 * DEAR]).left, 0);
        assert_eq!(paced(1, &[0, 0, 0]).left, 0);
    }

    #[test]
    fn no_more_is_skipped_than_there_is_time_for() {
        let now = Deadline::now();
        let pace = Pace::new().after(now, 1, LONG);
        assert_eq!(pace.after(now.later(100), 1, 700).left, 7);
        assert_eq!(pace.after(now.later(100), 1, 0).left, 0);
    }

    /// What has been cheap so far may suddenly take its time.
    #[test]
    fn a_loop_whose_iterations_become_dear_looks_up_all_the_same() {
        let request = Context::root("request", Budget::inherited());
        let mut pace = Pace::new();
        request.enter(|| {
            let begun = Instant::now();
            while pace.left < 100 && begun.elapsed() < Duration::from_secs(10) {
                for _ in 0..10_000 {
                    assert!(pace.checkpoint().is_none());
                }
            }
            assert!(pace.left >= 100, "{pace:?}");
            request.cancel(Cause::UserCancelled);
            let steps = (0..100).take_while(|_| {
                std::thread::sleep(Duration::from_millis(20));
                pace.checkpoint().is_none()
            });
            // One, unless the machine is so busy that the thread which ticks gets no turn.
            assert!(steps.count() <= 10);
        });
    }
}
