//! How a timeout is written on the wire. No I/O, no clock: bytes to durations and back.
//!
//! | module | header | form | source |
//! |---|---|---|---|
//! | [`relative`] | `x-request-timeout-ms` | up to 12 digits, milliseconds from now | ours |
//! | [`absolute`] | `x-request-deadline` | 13 digits, milliseconds since the epoch | ours |
//! | [`grpc`] | `grpc-timeout` | up to 8 digits and a unit | gRPC over HTTP/2 |
//! | [`connect`] | `connect-timeout-ms` | up to 10 digits, milliseconds from now | the Connect protocol |
//! | [`envoy`] | `x-envoy-expected-rq-timeout-ms` | up to 12 digits, milliseconds from now | Envoy |
//! | [`request_start`] | `x-request-start` | seconds, milli- or microseconds since the epoch | what proxies write |
//! | [`attempt`] | `x-request-attempt` | up to 4 digits, from 1 on | ours |
//! | [`retry_after`] | `retry-after` | seconds, or a date | RFC 9110 |
//!
//! Decoders are strict, because every hop must read the same number: ASCII digits only, no sign, no blank, no
//! fraction, no list, a bounded length. Encoders round down, because a callee may get less than its caller has and
//! never more, and never to zero, because zero means that the time is over.

pub mod absolute;
pub mod attempt;
pub mod connect;
pub mod envoy;
pub mod grpc;
mod millis;
pub mod relative;
pub mod request_start;
pub mod retry_after;

use std::fmt;

use ::http::{HeaderMap, HeaderName};

/// A timeout header that cannot be read. It is never taken for "no timeout".
///
/// Names the header and what is accepted. The value is not repeated: it came from a stranger, and this text goes into
/// answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    header: &'static str,
    problem: &'static str,
    accepted: &'static str,
}

impl Malformed {
    /// The name of the header.
    #[must_use]
    pub const fn header(&self) -> &'static str {
        self.header
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}; accepted: {}",
            self.header, self.problem, self.accepted
        )
    }
}

impl std::error::Error for Malformed {}

/// So many digits are a number of 64 bits, whichever they are.
const SURE: usize = 19;

/// The value of one to `most` ASCII digits, which are at most [`SURE`]. `u64::from_str` would take a sign.
#[inline]
fn digits(bytes: &[u8], most: usize) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > most.min(SURE) {
        return None;
    }
    let mut value = 0_u64;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    Some(value)
}

const DIFFER: &str = "several copies differ";

/// The one value of a header. Neither the first copy nor the last wins: equal ones are one value, others are refused.
fn only<T: PartialEq>(
    headers: &HeaderMap,
    name: &HeaderName,
    decode: fn(&[u8]) -> Result<T, Malformed>,
    differ: Malformed,
) -> Result<Option<T>, Malformed> {
    let mut found = None;
    for value in headers.get_all(name) {
        let value = decode(value.as_bytes())?;
        if found.as_ref().is_some_and(|found| *found != value) {
            return Err(differ);
        }
        found = Some(value);
    }
    Ok(found)
}
