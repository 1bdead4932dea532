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
