//! `x-request-start`: when the proxy in front of us took the request, so that the time in its queue counts.
//!
//! There is no specification, only what proxies write; the number of digits tells the unit:
//!
//! | value | unit | written by |
//! |---|---|---|
//! | `1512379167574` | milliseconds | Heroku's router |
//! | `t=1512379167.574` | seconds with a fraction | nginx, `t=${msec}` |
//! | `t=1512379167574123` | microseconds | Apache, `t=%{usec_frac}t` and the like |
//!
//! The `t=` may be there or not with each of them. Everything else is [`Malformed`].

use std::time::Duration;

use ::http::HeaderMap;

use super::{Malformed, digits, only};
use crate::http::header::REQUEST_START;

const SECONDS: usize = 10;
const MILLIS: usize = 13;
const MICROS: usize = 16;
/// Digits after the point.
const FRACTION: usize = 6;

const fn refuse(problem: &'static str) -> Malformed {
    Malformed {
        header: "x-request-start",
        problem,
        accepted: "one value, with or without `t=`, since the Unix epoch: 10 ASCII digits of seconds with up to 6 \
                   after a point, 13 of milliseconds or 16 of microseconds",
    }
}

const MALFORMED: Malformed = refuse("the value cannot be read");

/// Reads one value: the time since the Unix epoch.
///
/// # Errors
/// [`Malformed`] for everything that is not one of the three forms.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::request_start::decode;
///
/// let at = Ok(Duration::from_millis(1_512_379_167_574));
/// assert_eq!(decode(b"1512379167574"), at);
/// assert_eq!(decode(b"t=1512379167.574"), at);
/// assert_eq!(decode(b"t=1512379167574000"), at);
/// assert!(decode(b"t=1.5e9").is_err());
/// ```
pub fn decode(value: &[u8]) -> Result<Duration, Malformed> {
    let value = value.strip_prefix(b"t=").unwrap_or(value);
    let (whole, fraction) = match value.iter().position(|byte| *byte == b'.') {
        Some(point) => (&value[..point], Some(&value[point + 1..])),
        None => (value, None),
    };
    let number = digits(whole, MICROS).ok_or(MALFORMED)?;
    match (whole.len(), fraction) {
        (SECONDS, None) => Ok(Duration::from_secs(number)),
        (SECONDS, Some(fraction)) => {
            let parts = digits(fraction, FRACTION).ok_or(MALFORMED)?;
            let missing = u32::try_from(FRACTION - fraction.len()).map_err(|_| MALFORMED)?;
            let micros = parts * 10_u64.pow(missing);
            Ok(Duration::from_secs(number) + Duration::from_micros(micros))
        }
        (MILLIS, None) => Ok(Duration::from_millis(number)),
        (MICROS, None) => Ok(Duration::from_micros(number)),
        _ => Err(MALFORMED),
    }
}

/// Reads the header from a head; `None` when it is absent.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies differ.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    only(headers, &REQUEST_START, decode, refuse(super::DIFFER))
}

/// How long the request has waited before us, when it was taken at `at` and the clock says `now`; `None` for a value
/// that is not believed, which is one further away than `guard`. A little ahead of us is no time at all.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::absolute::GUARD;
/// use deadline_runtime::http::codec::request_start::queued;
///
/// let now = Duration::from_secs(1_767_225_600);
/// let second = Duration::from_secs(1);
/// assert_eq!(queued(now - second, now, GUARD), Some(second));
/// assert_eq!(queued(now + second, now, GUARD), Some(Duration::ZERO));
/// assert_eq!(queued(now - 61 * second, now, GUARD), None);
/// ```
#[must_use]
pub fn queued(at: Duration, now: Duration, guard: Duration) -> Option<Duration> {
    (at.abs_diff(now) <= guard).then(|| now.saturating_sub(at))
}
