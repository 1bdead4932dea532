//! What the headers have in common that carry whole milliseconds from now.

use std::time::Duration;

use ::http::HeaderValue;

use super::{Malformed, digits};

/// One such header: they differ in name and in how many digits are read.
pub(super) struct Millis {
    pub(super) header: &'static str,
    /// The longest value read, leading zeros included.
    pub(super) digits: usize,
    /// The largest number of so many digits.
    pub(super) largest: u64,
    pub(super) accepted: &'static str,
}

impl Millis {
    pub(super) const fn refuse(&self, problem: &'static str) -> Malformed {
        Malformed {
            header: self.header,
            problem,
            accepted: self.accepted,
        }
    }

    pub(super) fn decode(&self, value: &[u8]) -> Result<Duration, Malformed> {
        if value.is_empty() {
            return Err(self.refuse("the value is empty"));
        }
        if value.len() > self.digits {
            return Err(self.refuse("the value is too long"));
        }
        digits(value, self.digits)
            .map(Duration::from_millis)
            .ok_or(self.refuse("the value has something other than ASCII digits"))
    }

    pub(super) fn encode(&self, left: Duration) -> Option<HeaderValue> {
        let millis = u64::try_from(left.as_millis())
            .unwrap_or(self.largest)
            .min(self.largest);
        (millis > 0).then(|| HeaderValue::from(millis))
    }
}
