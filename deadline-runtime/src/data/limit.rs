//! [`ServerLimit`]: a remaining time as a server is told it.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// Whole milliseconds, `1..=2147483647`: what `statement_timeout` and its kin take.
///
/// There is no zero among them, because a server reads it as "no limit". Rounded down, so that the server is never more
/// patient than we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServerLimit(NonZeroU32);

impl ServerLimit {
    /// The most a server takes: more wraps around there.
    pub(crate) const MAX: u32 = i32::MAX.unsigned_abs();

    /// `None` for less than a millisecond: then nothing may be sent.
    pub(crate) fn of(left: Duration) -> Option<Self> {
        let millis = u32::try_from(left.as_millis()).unwrap_or(Self::MAX);
        NonZeroU32::new(millis.min(Self::MAX)).map(Self)
    }

    pub(crate) fn duration(self) -> Duration {
        Duration::from_millis(self.0.get().into())
    }
}

impl fmt::Display for ServerLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(left: Duration) -> Option<String> {
        ServerLimit::of(left).map(|limit| limit.to_string())
    }

    #[test]
    fn a_remainder_is_never_sent_as_no_limit_and_never_wraps() {
        assert_eq!(sent(Duration::ZERO), None);
        assert_eq!(sent(Duration::from_micros(400)), None);
        assert_eq!(sent(Duration::from_micros(999)), None);
        assert_eq!(sent(Duration::from_millis(1)).as_deref(), Some("1"));
        assert_eq!(sent(Duration::from_micros(1_999)).as_deref(), Some("1"));
        let fifty_days = Duration::from_secs(50 * 24 * 60 * 60);
        assert_eq!(sent(fifty_days).as_deref(), Some("2147483647"));
        assert_eq!(sent(Duration::MAX).as_deref(), Some("2147483647"));
        let most = Duration::from_millis(2_147_483_647);
        assert_eq!(ServerLimit::of(most).map(ServerLimit::duration), Some(most));
    }
}
