//! [`WallClock`]: the time of day, where a peer's clock has to be compared with ours.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The one source of the time of day.
///
/// Deadlines are monotonic and never look at it. It is asked where an instant crosses processes as a date: an epoch in a
/// header, a job's expiry. A test gives one that it moves by hand.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use deadline_runtime::WallClock;
///
/// let stopped = WallClock::from_fn(|| UNIX_EPOCH + Duration::from_secs(1_767_225_600));
/// assert_eq!(stopped.since_epoch(), Duration::from_secs(1_767_225_600));
/// assert!(WallClock::system().since_epoch() > Duration::from_secs(1_700_000_000));
/// ```
#[derive(Clone, Default)]
pub struct WallClock(Option<Arc<dyn Fn() -> SystemTime + Send + Sync>>);

impl WallClock {
    /// The clock of the operating system.
    #[must_use]
    pub const fn system() -> Self {
        Self(None)
    }

    /// A clock that `now` reads.
    #[must_use]
    pub fn from_fn(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(now)))
    }

    /// What it says.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.0.as_ref().map_or_else(SystemTime::now, |now| now())
    }

    /// What it says, counted from the Unix epoch; zero before it.
    #[must_use]
    pub fn since_epoch(&self) -> Duration {
        self.now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}
