//! What a wait is expected to take, and how often that may be held against somebody.

use std::time::Duration;

/// The usual time a slot is held, and the allowance for refusing because of it.
#[derive(Debug)]
pub(super) struct Estimate {
    /// `None` until the first slot has come back.
    held: Option<Duration>,
    /// In hundredths of a refusal.
    allowance: u32,
    percent: u8,
}

/// So many refusals in a row are possible from the start.
const BURST: u32 = 10 * 100;

impl Estimate {
    pub(super) const fn new(percent: u8) -> Self {
        Self {
            held: None,
            allowance: if percent == 0 { 0 } else { BURST },
            percent,
        }
    }

    /// A slot came back after so long. One in eight of what is new, so that one slow request does not close the door.
    pub(super) fn came_back(&mut self, after: Duration) {
        self.held = Some(match self.held {
            Some(usual) => usual.saturating_mul(7).saturating_add(after) / 8,
            None => after,
        });
    }

    /// What whoever comes after `waiting` others may expect; `None` while nothing is known.
    pub(super) fn wait(&self, waiting: usize, slots: usize) -> Option<Duration> {
        let before = u32::try_from(waiting.saturating_add(1)).unwrap_or(u32::MAX);
        let slots = u32::try_from(slots.max(1)).unwrap_or(u32::MAX);
        Some(self.held?.saturating_mul(before) / slots)
    }

    /// Somebody has come.
    pub(super) fn came(&mut self) {
        let more = self.allowance.saturating_add(u32::from(self.percent));
        self.allowance = more.min(BURST);
    }

    /// Whether one more may be refused for its expectation; it then counts.
    pub(super) fn may_refuse(&mut self) -> bool {
        match self.allowance.checked_sub(100) {
            Some(left) => {
                self.allowance = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_wait_is_the_usual_time_for_each_before_it() {
        let mut estimate = Estimate::new(50);
        assert_eq!(estimate.wait(3, 4), None);
        estimate.came_back(100 * MS);
        assert_eq!(estimate.wait(0, 4), Some(25 * MS));
        assert_eq!(estimate.wait(3, 4), Some(100 * MS));
        estimate.came_back(900 * MS);
        assert_eq!(estimate.wait(0, 1), Some(200 * MS));
        assert_eq!(
            estimate.wait(usize::MAX, 1),
            Some(200 * MS * u32::MAX),
            "no panic, no overflow"
        );
    }

    #[test]
    fn at_most_the_share_is_refused_and_only_refusals_count() {
        let mut estimate = Estimate::new(50);
        for _ in 0..1_000 {
            estimate.came();
        }
        assert_eq!(estimate.allowance, BURST);
        let refused = (0..1_000).filter(|_| {
            estimate.came();
            estimate.may_refuse()
        });
        // Half of them, and the ten that were saved up, whose refusal makes room for ten more halves.
        assert_eq!(refused.count(), 509);
        let mut never = Estimate::new(0);
        never.came();
        assert!(!never.may_refuse());
    }
}
