//! `x-envoy-expected-rq-timeout-ms`: what Envoy still waits for the answer, in whole milliseconds.
//!
//! Envoy writes it on the request that it sends to a service (its router filter's documentation, "HTTP headers set on
//! upstream calls"): the smaller of the route's timeout and the timeout of the try. Only read here, never written: it
//! is the proxy's word, and a proxy below us writes its own.

use std::time::Duration;

use ::http::HeaderMap;

use super::millis::Millis;
use super::{Malformed, only};
use crate::http::header::ENVOY_EXPECTED_TIMEOUT_MS;

const FORM: Millis = Millis {
    header: "x-envoy-expected-rq-timeout-ms",
    digits: 12,
    largest: 999_999_999_999,
    accepted: "one value of 1 to 12 ASCII digits, whole milliseconds",
};

/// Reads one value. Zero is a value: the time is over (Envoy leaves the header out where it waits without limit).
///
/// # Errors
/// [`Malformed`] for everything that is not one to twelve ASCII digits.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::codec::envoy;
///
/// assert_eq!(envoy::decode(b"15000"), Ok(Duration::from_secs(15)));
/// assert!(envoy::decode(b"15s").is_err());
/// ```
pub fn decode(value: &[u8]) -> Result<Duration, Malformed> {
    FORM.decode(value)
}

/// Reads the header from a head; `None` when it is absent.
///
/// # Errors
/// [`Malformed`] as [`decode`], and when several copies differ.
pub fn from_headers(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    let differ = FORM.refuse(super::DIFFER);
    only(headers, &ENVOY_EXPECTED_TIMEOUT_MS, decode, differ)
}
