//! What each awaited call declares.
//!
//! `let call_0 = call(0);` makes a slot of types that are not known yet. Where the call is awaited, the budget in its
//! future's type becomes the slot's; a future that declares nothing makes it `()`. rustc shows these types under the
//! message, so they are short.
//!
//! # How the compiler decides
//!
//! Rust has no "unless it is implemented". Two impls overlap instead: one for every future, and one for futures that
//! declare something. Which is meant is said by an integer type that is a parameter of the trait, and inferred from a literal.
//! For a future that declares nothing the first impl is the only one, and the literal becomes a `u8`. For any other both
//! apply and rustc waits; when all of the body is known and nothing has decided, an integer literal becomes an `i32`: the second.
//! Nothing has to be known at the await itself, so that a type which is found later is no error; and no method is looked
//! up, so that no trait in scope can be in the way.

use std::marker::PhantomData;

use super::limits::Fit;
use super::price::{Price, larger};
use crate::figure::{Attempts, Budgeted, Millis};
use crate::scope::Spec;

/// The place of one figure: whether the call counts, and what it declares. It has no size.
#[derive(Debug)]
pub struct Slot<C, D>(PhantomData<Types<C, D>>);

/// Such that a slot can be sent wherever it is.
type Types<C, D> = fn() -> (C, D);

impl<C, D> Clone for Slot<C, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, D> Copy for Slot<C, D> {}

/// A slot for one call, by a literal whose type is found later.
#[must_use]
#[inline(always)]
pub const fn call<C: Copy, D>(_: C) -> Slot<C, D> {
    Slot(PhantomData)
}

/// The slot of a call that does not count, or is not there because of a `#[cfg]`.
#[must_use]
#[inline(always)]
pub const fn nothing() -> Slot<u8, ()> {
    Slot(PhantomData)
}

/// Futures that declare a `Figure`, in the way `C`.
pub trait Counts<C> {
    /// What is declared.
    type Figure;
}

impl<F> Counts<u8> for F {
    type Figure = ();
}

impl<F: Budgeted<Budget: Declares>> Counts<i32> for F {
    type Figure = F::Budget;
}

/// Notes in the call's slot what its future declares.
#[inline(always)]
pub fn counted<F: Counts<C, Figure = D>, C, D>(_: Slot<C, D>, future: F) -> F {
    future
}

/// Notes in a slot what a `#[budget]` with a constant is.
#[must_use]
#[inline(always)]
pub const fn covers<B>(_: Slot<i32, B>, spec: &'static Spec<B>) -> &'static Spec<B> {
    spec
}

/// The slots of a function, once all are known.
#[must_use]
#[inline(always)]
pub const fn calls<S: Slots>(_: S) -> Fit<S::Declared> {
    Fit::assumed()
}

/// The same for many, from a closure that has them: rustc shows the type under the message, and that of a closure is
/// short however many there are.
#[must_use]
#[inline(always)]
pub fn many_calls<F: Fn() -> Fit<D>, D: Declares>(_: F) -> Fit<Many<F>> {
    Fit::assumed()
}

/// What the closure `F` says is declared.
#[derive(Debug)]
pub struct Many<F>(PhantomData<F>);

// A constant in a pattern is of a type that can be compared; closures cannot.
impl<F> PartialEq for Many<F> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<F> Eq for Many<F> {}

impl<D: Declares, F: Fn() -> Fit<D>> Declares for Many<F> {
    const DECLARED: Declared = D::DECLARED;
    const SUM: u64 = D::SUM;
    const CAP: u64 = D::CAP;
}

/// One slot, or a tuple of them.
pub trait Slots: Copy {
    /// What they declare, in the same order.
    type Declared;
}

/// No calls, but constants to compare.
impl Slots for () {
    type Declared = ();
}

impl<C, D> Slots for Slot<C, D> {
    type Declared = D;
}

/// What a call, or a tuple of calls, declares.
pub trait Declares {
    #[doc(hidden)]
    const DECLARED: Declared;
    /// What all of it counts.
    #[doc(hidden)]
    const SUM: u64 = Self::DECLARED.sum();
    /// The most that one of it may take.
    #[doc(hidden)]
    const CAP: u64 = Self::DECLARED.largest_cap();
}

/// A figure as a value.
#[derive(Debug, Clone, Copy)]
pub enum Declared {
    Nothing,
    Millis {
        cap: u64,
        plan: u64,
    },
    Attempts {
        times: u64,
        each: u64,
        backoffs: u64,
    },
    /// They run at the same time.
    Longest(&'static [Declared]),
    Several {
        all: &'static [Declared],
        count: usize,
    },
}

impl Declared {
    const fn count(&self) -> usize {
        match self {
            Self::Several { count, .. } => *count,
            _ => 1,
        }
    }

    /// What one call counts.
    const fn sum(&self) -> u64 {
        match Price::declared(*self) {
            Some(price) => price.sum,
            None => 0,
        }
    }

    /// The most that any of the calls may take.
    pub(super) const fn largest_cap(&self) -> u64 {
        let Self::Several { all, .. } = self else {
            return match Price::declared(*self) {
                Some(price) => price.cap,
                None => 0,
            };
        };
        let mut largest = 0;
        let mut index = 0;
        while index < all.len() {
            largest = larger(largest, all[index].largest_cap());
            index += 1;
        }
        largest
    }

    /// That of the call with this number.
    pub(super) const fn at(&self, mut number: usize) -> Self {
        let mut declared = *self;
        'inside: while let Self::Several { all, .. } = declared {
            let mut index = 0;
            while index < all.len() {
                let count = all[index].count();
                if number < count {
                    declared = all[index];
                    continue 'inside;
                }
                number -= count;
                index += 1;
            }
            return Self::Nothing;
        }
        declared
    }
}

impl Declares for () {
    const DECLARED: Declared = Declared::Nothing;
    const SUM: u64 = 0;
    const CAP: u64 = 0;
}

impl<const CAP: u64, const PLAN: u64> Declares for Millis<CAP, PLAN> {
    const DECLARED: Declared = Declared::Millis {
        cap: CAP,
        plan: PLAN,
    };
    const SUM: u64 = PLAN;
    const CAP: u64 = CAP;
}

impl<const TIMES: u64, const EACH: u64, const BACKOFFS: u64> Declares
    for Attempts<TIMES, EACH, BACKOFFS>
{
    const DECLARED: Declared = Declared::Attempts {
        times: TIMES,
        each: EACH,
        backoffs: BACKOFFS,
    };
}

// Longer lists are tuples of tuples.
macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Slots),*> Slots for ($($name,)*) {
            type Declared = ($($name::Declared,)*);
        }

        impl<$($name: Declares),*> Declares for ($($name,)*) {
            const DECLARED: Declared = Declared::Several {
                all: &[$($name::DECLARED),*],
                count: 0 $(+ $name::DECLARED.count())*,
            };
            const SUM: u64 = 0_u64$(.saturating_add($name::SUM))*;
            const CAP: u64 = {
                let mut largest = 0;
                $(largest = larger(largest, $name::CAP);)*
                largest
            };
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
