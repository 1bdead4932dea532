//! `grpc-timeout`: up to eight digits and a unit, as the gRPC specification over HTTP/2 defines it.

use std::time::Duration;

use ::http::HeaderMap;

use super::{Malformed, digits, only};
use crate::http::header::GRPC_TIMEOUT;

/// The specification allows eight digits, whatever the unit.
const DIGITS: usize = 8;
const LARGEST: u128 = 99_999_999;

/// The units with their length in nanoseconds, the finest first.
const UNITS: [(u8, u64); 6] = [
    (b'n', 1),
    (b'u', 1_000),
    (b'm', 1_000_000),
    (b'S', 1_000_000_000),
    (b'M', 60_000_000_000),
    (b'H', 3_600_000_000_000),
];

const fn refuse(problem: &'static str) -> Malformed {
    Malformed {
        header: "grpc-timeout",
        problem,
        accepted: "1 to 8 ASCII digits and one of H, M, S, m, u, n",
    }
}

const MALFORMED: Malformed = refuse("the value cannot be read");

/// Reads a value. The specification wants it positive; zero, which some peers send, is a value: the time is over.
///
/// # Errors
/// [`Malformed`] for everything but one to eight ASCII digits and one unit.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::grpc;
///
/// assert_eq!(grpc::decode(b"450m"), Ok(Duration::from_millis(450)));
/// assert!(grpc::decode(b"5s").is_err());
/// ```
pub fn decode(value: &[u8]) -> Result<Duration, Malformed> {
    let (unit, number) = value.split_last().ok_or(MALFORMED)?;
    let (_, nanos) = UNITS
        .iter()
        .find(|(name, _)| name == unit)
        .ok_or(MALFORMED)?;
    let number = digits(number, DIGITS).ok_or(MALFORMED)?;
    // In parts, because nanoseconds in 64 bits end at 584 years and hours do not.
    let nanos = u128::from(number) * u128::from(*nanos);
    let seconds = u64::try_from(nanos / 1_000_000_000).map_err(|_| MALFORMED)?;
    let rest = u32::try_from(nanos % 1_000_000_000).map_err(|_| MALFORMED)?;
    Ok(Duration::new(seconds, rest))
}

/// Reads the header from a head; `None` when it is absent.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies differ.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    only(headers, &GRPC_TIMEOUT, decode, refuse(super::DIFFER))
}

/// Writes what is left in the finest unit that fits eight digits, rounded down; `None` with nothing left.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::grpc;
///
/// assert_eq!(grpc::encode(Duration::from_millis(450)).as_deref(), Some("450000u"));
/// assert_eq!(grpc::encode(Duration::ZERO), None);
/// ```
#[must_use]
pub fn encode(left: Duration) -> Option<String> {
    let nanos = left.as_nanos();
    if nanos == 0 {
        return None;
    }
    let fits = UNITS
        .iter()
        .map(|(unit, length)| (nanos / u128::from(*length), *unit))
        .find(|(number, _)| *number <= LARGEST);
    let (number, unit) = fits.unwrap_or((LARGEST, b'H'));
    Some(format!("{number}{}", char::from(unit)))
}
