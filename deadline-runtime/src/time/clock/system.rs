//! tokio's clock, which is that of the operating system unless a test has paused it.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::time::Instant;

use crate::time::{LONGEST, nanos};

/// Where the count starts: well before the first instant anybody asks for, so that a paused clock which stopped before our
/// first call still lies after it.
static EPOCH: LazyLock<Instant> = LazyLock::new(|| {
    let now = Instant::now();
    [LONGEST, LONGEST / 365, Duration::from_secs(60)]
        .into_iter()
        .find_map(|back| now.checked_sub(back))
        .unwrap_or(now)
});

/// The count at this moment.
#[inline]
pub(in crate::time) fn now() -> u64 {
    count(Instant::now())
}

/// The count at `instant`; instants too far away to count are clamped.
#[inline]
pub(in crate::time) fn count(instant: Instant) -> u64 {
    nanos(instant.saturating_duration_since(*EPOCH))
}

/// When the count is `count`.
#[inline]
pub(in crate::time) fn instant(count: u64) -> Instant {
    EPOCH
        .checked_add(Duration::from_nanos(count))
        .unwrap_or_else(|| Instant::now() + LONGEST)
}
