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
    #[inline(always)]
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
