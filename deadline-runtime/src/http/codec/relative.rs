//! `x-request-timeout-ms`: whole milliseconds from now.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue};

use super::millis::Millis;
use super::{Malformed, only};
use crate::http::header::REQUEST_TIMEOUT_MS;

/// More than thirty years.
const FORM: Millis = Millis {
    header: "x-request-timeout-ms",
    digits: 12,
    largest: 999_999_999_999,
    accepted: "one value of 1 to 12 ASCII digits, whole milliseconds",
};

/// Reads one value. Zero is a value: the time is over.
///
/// # Errors
/// [`Malformed`] for everything that is not one to twelve ASCII digits: a sign, a blank, a fraction, an exponent, a
/// list, digits of other scripts, nothing at all.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::relative;
///
/// assert_eq!(relative::decode(b"1500"), Ok(Duration::from_millis(1_500)));
/// assert!(relative::decode(b"+1500").is_err());
/// ```
pub fn decode(value: &[u8]) -> Result<Duration, Malformed> {
    FORM.decode(value)
}

/// Reads the header from a head; `None` when it is absent.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies differ: neither the first nor the last wins. Equal copies are
/// one value.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    only(
        headers,
        &REQUEST_TIMEOUT_MS,
        decode,
        FORM.refuse(super::DIFFER),
    )
}

/// Writes what is left, in whole milliseconds rounded down; `None` with less than one left, when there is nothing to
/// ask of anybody any more.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::relative;
///
/// let value = relative::encode(Duration::from_micros(449_900));
/// assert_eq!(value.as_ref().map(|value| value.as_bytes()), Some(&b"449"[..]));
/// assert_eq!(relative::encode(Duration::from_micros(999)), None);
/// ```
#[must_use]
pub fn encode(left: Duration) -> Option<HeaderValue> {
    FORM.encode(left)
}
