//! [`Attempts`]: how often a transaction is tried.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use super::Policy;
use super::bounds::Bounds;
use crate::time::Deadline;

/// The attempts of one transaction that the server may not be able to serialize.
#[derive(Debug)]
pub(crate) struct Attempts {
    most: u32,
    made: u32,
    started: Deadline,
    longest: Duration,
}

impl Attempts {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            most: policy.attempts,
            made: 0,
            started: Deadline::now(),
            longest: Duration::ZERO,
        }
    }

    /// One starts.
    pub(crate) fn begin(&mut self) {
        self.made += 1;
        self.started = Deadline::now();
    }

    /// After a failure: waits a little and says whether another one may be made, because it is allowed and one like
    /// the longest so far fits into what is left.
    pub(crate) async fn another(&mut self, bounds: &Bounds) -> bool {
        self.longest = self.longest.max(Deadline::now().since(self.started));
        let pause = pause(self.made);
        let fits = bounds
            .deadline()
            .is_none_or(|deadline| pause.saturating_add(self.longest) <= deadline.remaining());
        let another = fits && self.made < self.most;
        if another {
            tokio::time::sleep(pause).await;
        }
        another
    }
}

/// Anything up to 4 ms, twice that after each attempt: those who met once should not meet again.
fn pause(attempt: u32) -> Duration {
    let most = 4_000_u64 << attempt.saturating_sub(1).min(5);
    Duration::from_micros(RandomState::new().hash_one(attempt) % most)
}
