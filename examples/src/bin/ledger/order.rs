//! What is ordered, and what became of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One payment: the same key is the same payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub key: String,
    pub body: Body,
}

/// What the client sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    pub account: String,
    pub cents: i64,
}

/// What the provider says; final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The money was taken; the number of that.
    Paid(String),
    Declined,
}

/// What is known of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub key: String,
    /// `None` while it is on its way.
    pub verdict: Option<Verdict>,
}

impl Payment {
    pub const fn status(&self) -> &'static str {
        match self.verdict {
            None => "pending",
            Some(Verdict::Paid(_)) => "paid",
            Some(Verdict::Declined) => "declined",
        }
    }

    pub fn charge(&self) -> Option<&str> {
        match &self.verdict {
            Some(Verdict::Paid(charge)) => Some(charge),
            _ => None,
        }
    }
}

impl Verdict {
    /// As the two columns of the ledger.
    pub fn columns(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Paid(charge) => ("paid", Some(charge)),
            Self::Declined => ("declined", None),
        }
    }

    /// From the two columns; `None` for a payment that is on its way.
    pub fn from_columns(status: &str, charge: Option<String>) -> Option<Self> {
        match (status, charge) {
            ("paid", Some(charge)) => Some(Self::Paid(charge)),
            ("declined", _) => Some(Self::Declined),
            _ => None,
        }
    }
}

/// A key is 1 to 64 visible ASCII characters.
pub fn is_key(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

impl fmt::Display for Payment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_visible_and_not_empty() {
        assert!(is_key("8f14e45f-ceea"));
        assert!(is_key(&"k".repeat(64)));
        for bad in ["", "a b", "ä", "\n", &"k".repeat(65)] {
            assert!(!is_key(bad), "{bad:?}");
        }
    }

    #[test]
    fn verdicts_survive_their_columns_and_half_of_one_is_none() {
        for verdict in [Verdict::Paid("ch_1".into()), Verdict::Declined] {
            let (status, charge) = verdict.columns();
            let read = Verdict::from_columns(status, charge.map(str::to_owned));
            assert_eq!(read, Some(verdict));
        }
        assert_eq!(Verdict::from_columns("paid", None), None);
        assert_eq!(Verdict::from_columns("pending", Some("ch_1".into())), None);
    }
}
