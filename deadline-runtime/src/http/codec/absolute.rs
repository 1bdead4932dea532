//! `x-request-deadline`: when the caller stops waiting, in milliseconds since the Unix epoch.
//!
//! Two machines read two clocks, so the value is only as good as the worse of them. The rules, in this order:
//!
//! | value | what it means |
//! |---|---|
//! | not 13 ASCII digits from 1000000000000 on | [`Malformed`]: seconds or microseconds were given, or no number |
//! | passed already | not believed: whoever is a second late and whoever's clock is a second off look the same |
//! | further ahead than the most that is ever granted, and the guard ([`GUARD`]) | not believed |
//! | anything else | so much is left |
//!
//! A value that is not believed is never the reason to refuse a request: the relative header counts, or the default,
//! and `clock_skew_suspected` is recorded.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue};

use super::{Malformed, digits, only};
use crate::http::header::REQUEST_DEADLINE;

/// How far two clocks may be apart before what they say is taken for a fault of one of them, unless said otherwise.
pub const GUARD: Duration = Duration::from_secs(60);

/// September 2001. A count of seconds reaches it in the year 33658.
const FIRST: u64 = 1_000_000_000_000;
/// November 2286.
const LAST: u64 = 9_999_999_999_999;
const DIGITS: usize = 13;

const fn refuse(problem: &'static str) -> Malformed {
    Malformed {
        header: "x-request-deadline",
        problem,
        accepted: "one value of 13 ASCII digits, milliseconds since the Unix epoch",
    }
}

/// Reads one value: the time since the Unix epoch.
///
/// # Errors
/// [`Malformed`] for everything but thirteen ASCII digits. A number that lies before 2001 as milliseconds is a count of
/// seconds, and says so: taken at its word it would be a deadline long past.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::absolute;
///
/// let at = absolute::decode(b"1767225600000");
/// assert_eq!(at, Ok(Duration::from_secs(1_767_225_600)));
/// let seconds = absolute::decode(b"1767225600").unwrap_err();
/// assert_eq!(
///     seconds.to_string(),
///     "x-request-deadline: the value lies before 2001, as a count of seconds would; \
///      accepted: one value of 13 ASCII digits, milliseconds since the Unix epoch"
/// );
/// ```
pub fn decode(value: &[u8]) -> Result<Duration, Malformed> {
    if value.is_empty() {
        return Err(refuse("the value is empty"));
    }
    if !value.iter().all(u8::is_ascii_digit) {
        return Err(refuse("the value has something other than ASCII digits"));
    }
    match digits(value, DIGITS) {
        None => Err(refuse(
            "the value lies after 2286, as a count of microseconds would",
        )),
        Some(millis) if millis < FIRST => Err(refuse(
            "the value lies before 2001, as a count of seconds would",
        )),
        Some(millis) => Ok(Duration::from_millis(millis)),
    }
}

/// Reads the header from a head; `None` when it is absent.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies differ.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    only(headers, &REQUEST_DEADLINE, decode, refuse(super::DIFFER))
}

/// Writes an instant, given as the time since the Unix epoch, rounded down to a millisecond; `None` for one that no
/// reader would accept.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::absolute;
///
/// let value = absolute::encode(Duration::from_micros(1_767_225_600_000_999));
/// assert_eq!(value.as_ref().map(|value| value.as_bytes()), Some(&b"1767225600000"[..]));
/// ```
#[must_use]
pub fn encode(at: Duration) -> Option<HeaderValue> {
    let millis = u64::try_from(at.as_millis()).ok()?;
    (FIRST..=LAST)
        .contains(&millis)
        .then(|| HeaderValue::from(millis))
}

/// What is left until `at` when the clock says `now`, nobody is ever granted more than `most`, and clocks may be `guard`
/// apart; `None` for a value that is not believed.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::absolute::{GUARD, left};
///
/// let [second, minute] = [Duration::from_secs(1), Duration::from_secs(60)];
/// let now = Duration::from_secs(1_767_225_600);
/// assert_eq!(left(now + second, now, minute, GUARD), Some(second));
/// assert_eq!(left(now + 2 * minute, now, minute, GUARD), Some(minute));
/// assert_eq!(left(now + 3 * minute, now, minute, GUARD), None);
/// assert_eq!(left(now, now, minute, GUARD), None);
/// ```
#[must_use]
pub fn left(at: Duration, now: Duration, most: Duration, guard: Duration) -> Option<Duration> {
    let left = at.checked_sub(now).filter(|left| !left.is_zero())?;
    (left <= most.saturating_add(guard)).then(|| left.min(most))
}
