//! [`RetryBudget`]: how much extra load retries of one dependency may make, all calls together.

use std::fmt;
use std::sync::Arc;

use crate::attempt::{TOKEN, Tokens};

/// A bucket of tokens that all retries against one dependency share, so that an outage is not answered with a multiple of
/// the load.
///
/// The figures and the threshold are those of gRPC's `retryThrottling`: 10 tokens to begin with and at most; every retry takes
/// one out, every success puts a tenth back, and a retry is made only while more than half of the tokens are there. In
/// the steady state retries are then at most a tenth of the successes, after a burst of five. Unlike there a failure that is not
/// followed by a retry costs nothing, as in finagle's retry budget: what the bucket pays for is extra load, and a first
/// attempt is none. When it says no, the real error is returned as it is.
///
/// Make one for each dependency, keep it beside its client, and hand it to every retry; clones are the same bucket.
///
/// ```
/// use deadline_runtime::retry::RetryBudget;
///
/// let budget = RetryBudget::default();
/// assert_eq!(budget.available(), 10);
/// ```
#[derive(Clone)]
pub struct RetryBudget(Arc<Bucket>);

struct Bucket {
    tokens: Tokens,
    /// In thousandths of a token.
    per_success: u64,
}

impl RetryBudget {
    /// `tokens` at most; each success puts `percent` of one back. gRPC's usual figures are 10 and 10.
    ///
    /// With no tokens there is never a retry; with 0 percent there is none once half of them are used up.
    #[must_use]
    pub fn new(tokens: u32, percent: u32) -> Self {
        Self(Arc::new(Bucket {
            tokens: Tokens::full(u64::from(tokens) * TOKEN),
            per_success: u64::from(percent) * (TOKEN / 100),
        }))
    }

    /// Whole tokens that are left.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.0.tokens.left() / TOKEN
    }

    /// Whether a retry would be made now.
    #[must_use]
    pub fn allows(&self) -> bool {
        let left = self.0.tokens.left();
        left > self.threshold() && left >= TOKEN
    }

    pub(super) fn deposit(&self) {
        self.0.tokens.deposit(self.0.per_success);
    }

    pub(super) fn withdraw(&self) -> bool {
        self.0.tokens.withdraw(self.threshold())
    }

    fn threshold(&self) -> u64 {
        self.0.tokens.most() / 2
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new(10, 10)
    }
}

/// `RetryBudget(7 of 10)`
impl fmt::Debug for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.0.tokens.most() / TOKEN;
        write!(f, "RetryBudget({} of {most})", self.available())
    }
}
