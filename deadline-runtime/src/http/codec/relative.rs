//! `x-request-timeout-ms`: whole milliseconds from now.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue};

use super::{Malformed, digits};
use crate::http::header::REQUEST_TIMEOUT_MS;

/// The longest value read, leading zeros included: more than thirty years.
const DIGITS: usize = 12;
const LARGEST: u64 = 999_999_999_999;

const fn refuse(problem: &'static str) -> Malformed {
    Malformed {
        header: "x-request-timeout-ms",
        problem,
        accepted: "one value of 1 to 12 ASCII digits, whole milliseconds",
    }
}

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
    if value.is_empty() {
        return Err(refuse("the value is empty"));
    }
    if value.len() > DIGITS {
        return Err(refuse("the value is too long"));
    }
    digits(value, DIGITS)
        .map(Duration::from_millis)
        .ok_or(refuse("the value has something other than ASCII digits"))
}

/// Reads the header from a head; `None` when it is absent.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies differ: neither the first nor the last wins. Equal copies are
/// one value.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    let mut found = None;
    for value in headers.get_all(REQUEST_TIMEOUT_MS) {
        let value = decode(value.as_bytes())?;
        if found.is_some_and(|found| found != value) {
            return Err(refuse("several copies differ"));
        }
        found = Some(value);
    }
    Ok(found)
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
    let millis = u64::try_from(left.as_millis())
        .unwrap_or(LARGEST)
        .min(LARGEST);
    (millis > 0).then(|| HeaderValue::from(millis))
}
