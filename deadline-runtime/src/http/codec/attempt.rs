//! `x-request-attempt` and `grpc-previous-rpc-attempts`: that somebody above repeats this call when it fails.
//!
//! Three layers that each make three attempts are 27 calls at the bottom. So a caller that repeats says so with every
//! attempt, the first one included, and whoever is called leaves repeating to it: three calls at the bottom.
//!
//! | header | value | source |
//! |---|---|---|
//! | `x-request-attempt` | the number of this attempt, from 1 on; absent where nobody repeats | ours |
//! | `grpc-previous-rpc-attempts` | how many attempts came before, from 1 on; absent on the first | gRPC, retry design (A6) |

use std::num::NonZeroU32;

use ::http::{HeaderMap, HeaderValue};

use super::{Malformed, digits, only};
use crate::http::header::{GRPC_PREVIOUS_ATTEMPTS, REQUEST_ATTEMPT};

const DIGITS: usize = 4;
const LARGEST: u32 = 9_999;

const fn refuse(header: &'static str, problem: &'static str) -> Malformed {
    Malformed {
        header,
        problem,
        accepted: "one value of 1 to 4 ASCII digits, from 1 on",
    }
}

fn positive(value: &[u8], header: &'static str) -> Result<NonZeroU32, Malformed> {
    digits(value, DIGITS)
        .and_then(|number| NonZeroU32::new(u32::try_from(number).ok()?))
        .ok_or(refuse(header, "the value cannot be read"))
}

/// Reads a value of `x-request-attempt`.
///
/// # Errors
/// [`Malformed`] for everything but one to four ASCII digits that are not zero.
///
/// ```
/// use deadline_runtime::http::codec::attempt;
///
/// assert_eq!(attempt::decode(b"2").map(u32::from), Ok(2));
/// assert!(attempt::decode(b"0").is_err());
/// ```
pub fn decode(value: &[u8]) -> Result<NonZeroU32, Malformed> {
    positive(value, "x-request-attempt")
}

fn previous(value: &[u8]) -> Result<NonZeroU32, Malformed> {
    positive(value, "grpc-previous-rpc-attempts").map(|previous| previous.saturating_add(1))
}

/// Reads the number of the attempt from a head; `None` when it does not say. For a gRPC request from whichever of the two
/// headers says more.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies of one header differ.
pub fn from_headers(headers: &HeaderMap, is_grpc: bool) -> Result<Option<NonZeroU32>, Malformed> {
    let differ = refuse("x-request-attempt", super::DIFFER);
    let own = only(headers, &REQUEST_ATTEMPT, decode, differ)?;
    if !is_grpc {
        return Ok(own);
    }
    let differ = refuse("grpc-previous-rpc-attempts", super::DIFFER);
    let grpc = only(headers, &GRPC_PREVIOUS_ATTEMPTS, previous, differ)?;
    Ok(own.max(grpc))
}

/// Writes the number of an attempt.
#[must_use]
pub fn encode(attempt: NonZeroU32) -> HeaderValue {
    HeaderValue::from(attempt.get().min(LARGEST))
}
