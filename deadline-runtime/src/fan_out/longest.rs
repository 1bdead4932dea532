//! [`Longest`]: what a fan-out declares, which is what its longest branch does.

use std::marker::PhantomData;
use std::time::Duration;

use crate::figure::{Attempts, Figure, Millis, Percent, Sealed, Unbudgeted};
use crate::fits::{self, Declares};
use crate::time::Budget;

/// The longest of several figures, given as a tuple: that of a fan-out. Branches whose figure is not known count nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Longest<T>(PhantomData<T>);

/// A figure as a branch counts it.
pub trait Declared: 'static {
    #[doc(hidden)]
    const DECLARED: fits::Declared;
}

/// A tuple of figures.
pub trait OneOf: 'static {
    #[doc(hidden)]
    const ALL: &'static [fits::Declared];
}

impl<const CAP: u64, const PLAN: u64> Declared for Millis<CAP, PLAN> {
    const DECLARED: fits::Declared = <Self as Declares>::DECLARED;
}

impl<const TIMES: u64, const EACH: u64, const BACKOFFS: u64> Declared
    for Attempts<TIMES, EACH, BACKOFFS>
{
    const DECLARED: fits::Declared = <Self as Declares>::DECLARED;
}

impl<T: OneOf> Declared for Longest<T> {
    const DECLARED: fits::Declared = longest(T::ALL);
}

impl<const CAP: u64> Declared for Percent<CAP> {
    const DECLARED: fits::Declared = fits::Declared::Nothing;
}

impl Declared for Unbudgeted {
    const DECLARED: fits::Declared = fits::Declared::Nothing;
}

impl<T: OneOf> Declares for Longest<T> {
    const DECLARED: fits::Declared = longest(T::ALL);
}

impl<T: OneOf> Sealed for Longest<T> {}

impl<T: OneOf> Figure for Longest<T> {
    const BUDGET: Budget = match longest(T::ALL) {
        fits::Declared::Millis { cap, .. } => Budget::new(Duration::from_millis(cap)),
        _ => Budget::inherited(),
    };
}

const fn longest(all: &[fits::Declared]) -> fits::Declared {
    let (mut cap, mut plan) = (0, 0);
    let mut at = 0;
    while at < all.len() {
        let (most, usual) = match all[at] {
            fits::Declared::Millis { cap, plan } => (cap, plan),
            fits::Declared::Attempts {
                times,
                each,
                backoffs,
            } => {
                let sum = each.saturating_mul(times).saturating_add(backoffs);
                (sum, sum)
            }
            _ => (0, 0),
        };
        if most > cap {
            cap = most;
        }
        if usual > plan {
            plan = usual;
        }
        at += 1;
    }
    if cap == 0 {
        fits::Declared::Nothing
    } else {
        fits::Declared::Millis { cap, plan }
    }
}
