//! How a timeout is written on the wire. No I/O, no clock: bytes to durations and back.
//!
//! Decoders are strict, because every hop must read the same number: ASCII digits only, no sign, no blank, no
//! fraction, no list, a bounded length. Encoders round down, because a callee may get less than its caller has and
//! never more, and never to zero, because zero means that the time is over.

pub mod grpc;
pub mod relative;

use std::fmt;

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

/// The value of one to `most` ASCII digits. `u64::from_str` would take a sign.
fn digits(bytes: &[u8], most: usize) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > most {
        return None;
    }
    bytes.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
