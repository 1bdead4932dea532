//! [`HedgeBudget`]: how much extra load hedges of one dependency may make, all calls together.

use std::fmt;
use std::sync::Arc;

use crate::attempt::{TOKEN, Tokens};

/// A bucket of tokens that all hedges against one dependency share, so that a dependency which becomes slow for everybody is
/// not sent everything twice.
///
/// Every call puts a share of a token in, every attempt besides the first of a call takes one out. Over time the extra attempts are
/// then at most that share of the calls, after a burst of as many as there are tokens. Without a token the call goes on with the attempts it has.
///
/// ```
/// use deadline_runtime::hedge::HedgeBudget;
///
/// // At most 5 % more load, in bursts of at most 10.
/// let budget = HedgeBudget::new(5, 10);
/// assert_eq!(budget.available(), 10);
/// ```
#[derive(Clone)]
pub struct HedgeBudget(Arc<Bucket>);

struct Bucket {
    tokens: Tokens,
    /// In thousandths of a token.
    per_call: u64,
}

impl HedgeBudget {
    /// `percent` of the calls may be made once more, in bursts of at most `burst`, which is also what there is to begin with.
    #[must_use]
    pub fn new(percent: u32, burst: u32) -> Self {
        Self(Arc::new(Bucket {
            tokens: Tokens::full(u64::from(burst) * TOKEN),
            per_call: u64::from(percent) * (TOKEN / 100),
        }))
    }

    /// Whole tokens that are left.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.0.tokens.left() / TOKEN
    }

    pub(super) fn deposit(&self) {
        self.0.tokens.deposit(self.0.per_call);
    }

    pub(super) fn withdraw(&self) -> bool {
        self.0.tokens.withdraw(0)
    }
}

/// 5 % of the calls, in bursts of at most 10.
impl Default for HedgeBudget {
    fn default() -> Self {
        Self::new(5, 10)
    }
}

/// `HedgeBudget(7 of 10)`
impl fmt::Debug for HedgeBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.0.tokens.most() / TOKEN;
        write!(f, "HedgeBudget({} of {most})", self.available())
    }
}
