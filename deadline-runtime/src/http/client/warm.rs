//! [`Warm`]: which hosts have a connection already, as far as can be told from outside.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::time::Deadline;

/// More hosts than these are taken for cold: a list of strangers must not grow without bound.
const HOSTS: usize = 1_024;

/// For so long after an answer a connection is likely to be open still: less than the idle limits of the usual servers
/// and pools, of which the shortest in common use is a minute.
const KEPT: Duration = Duration::from_secs(50);

/// What opening a connection is likely to take, and where none has to be opened.
#[derive(Clone)]
pub(in crate::http) struct Warm {
    estimate: Duration,
    answered: Arc<Mutex<HashMap<Box<str>, Deadline>>>,
}

impl Warm {
    pub(in crate::http) fn new(estimate: Duration) -> Self {
        Self {
            estimate,
            answered: Arc::default(),
        }
    }

    /// What to subtract from a call to `host`.
    pub(in crate::http) fn estimate(&self, host: &str) -> Duration {
        if self.estimate.is_zero() {
            return Duration::ZERO;
        }
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let warm = answered
            .get(host)
            .is_some_and(|at| Deadline::now().since(*at) < KEPT);
        if warm { Duration::ZERO } else { self.estimate }
    }

    /// Whether hosts have to be told apart.
    pub(in crate::http) fn estimates(&self) -> bool {
        !self.estimate.is_zero()
    }

    /// `host` has answered.
    pub(in crate::http) fn answered(&self, host: &str) {
        if self.estimate.is_zero() {
            return;
        }
        let now = Deadline::now();
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = answered.get_mut(host) {
            *at = now;
            return;
        }
        if answered.len() >= HOSTS {
            answered.retain(|_, at| now.since(*at) < KEPT);
        }
        if answered.len() < HOSTS {
            answered.insert(host.into(), now);
        }
    }
}

impl fmt::Debug for Warm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Warm").field(&self.estimate).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_host_is_warm_for_a_while_after_its_answer() {
        let estimate = Duration::from_millis(30);
        let warm = Warm::new(estimate);
        assert_eq!(warm.estimate("a"), estimate);
        warm.answered("a");
        assert_eq!(warm.estimate("a"), Duration::ZERO);
        assert_eq!(warm.estimate("b"), estimate);
        tokio::time::advance(KEPT).await;
        assert_eq!(warm.estimate("a"), estimate);
    }

    #[tokio::test(start_paused = true)]
    async fn the_list_is_bounded_and_makes_room() {
        let warm = Warm::new(Duration::from_millis(30));
        for host in 0..HOSTS + 10 {
            warm.answered(&host.to_string());
        }
        let count = || warm.answered.lock().unwrap().len();
        assert_eq!(count(), HOSTS);
        tokio::time::advance(KEPT).await;
        warm.answered("new");
        assert_eq!(count(), 1);
    }
}
