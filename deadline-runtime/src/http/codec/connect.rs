//! `connect-timeout-ms`: whole milliseconds from now, as the Connect protocol defines it: at most ten digits.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue};

use super::millis::Millis;
use super::{Malformed, only};
use crate::http::header::CONNECT_TIMEOUT_MS;

/// About 115 days.
const FORM: Millis = Millis {
    header: "connect-timeout-ms",
    digits: 10,
    largest: 9_999_999_999,
    accepted: "one value of 1 to 10 ASCII digits, whole milliseconds",
};

/// Reads one value. The protocol wants it positive; zero, which computed timeouts come to, is a value: the time is over.
///
/// # Errors
/// [`Malformed`] for everything that is not one to ten ASCII digits.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::connect;
///
/// assert_eq!(connect::decode(b"5000"), Ok(Duration::from_secs(5)));
/// assert!(connect::decode(b"-1").is_err());
/// assert!(connect::decode(b"10000000000").is_err());
/// ```
pub fn decode(value: &[u8]) -> Result<Duration, Malformed> {
    FORM.decode(value)
}

/// Reads the header from a head; `None` when it is absent.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies differ.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    only(
        headers,
        &CONNECT_TIMEOUT_MS,
        decode,
        FORM.refuse(super::DIFFER),
    )
}

/// Writes what is left, in whole milliseconds rounded down; `None` with less than one left.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::connect;
///
/// let value = connect::encode(Duration::MAX);
/// assert_eq!(value.as_ref().map(|value| value.as_bytes()), Some(&b"9999999999"[..]));
/// ```
#[must_use]
pub fn encode(left: Duration) -> Option<HeaderValue> {
    FORM.encode(left)
}
