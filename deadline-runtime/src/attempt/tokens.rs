//! [`Tokens`]: a bucket that pays for extra load.

use std::sync::atomic::{AtomicU64, Ordering};

/// One token, in the thousandths that are counted.
pub(crate) const TOKEN: u64 = 1_000;

/// Counts in thousandths of a token, so that nothing is lost to rounding however many small deposits come.
#[derive(Debug)]
pub(crate) struct Tokens {
    left: AtomicU64,
    most: u64,
}

impl Tokens {
    /// A full bucket.
    pub(crate) const fn full(most: u64) -> Self {
        Self {
            left: AtomicU64::new(most),
            most,
        }
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    pub(crate) const fn most(&self) -> u64 {
        self.most
    }

    pub(crate) fn deposit(&self, thousandths: u64) {
        // A full bucket is left alone: the usual case does not write.
        let _ = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                let more = left.saturating_add(thousandths).min(self.most);
                (more != left).then_some(more)
            });
    }

    /// Takes one token out, if more than `floor` is in and the token with it.
    pub(crate) fn withdraw(&self, floor: u64) -> bool {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(TOKEN).filter(|_| left > floor)
            })
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deposit_never_overfills_and_a_withdrawal_never_overdraws() {
        let tokens = Tokens::full(2 * TOKEN);
        tokens.deposit(u64::MAX);
        assert_eq!(tokens.left(), 2 * TOKEN);
        assert!(tokens.withdraw(0));
        assert!(!tokens.withdraw(TOKEN));
        assert!(tokens.withdraw(0));
        assert!(!tokens.withdraw(0));
        tokens.deposit(TOKEN - 1);
        assert!(!tokens.withdraw(0));
        assert_eq!(tokens.left(), TOKEN - 1);
    }
}
