//! [`Longest`]: the figure of what runs side by side.

use std::marker::PhantomData;
use std::time::Duration;

use super::price::Price;
use super::slots::{Declared, Declares};
use crate::figure::{Attempts, Figure, Millis, Percent, Sealed, Unbudgeted};
use crate::time::Budget;

/// The longest of several figures, given as a tuple of up to sixteen: what a combinator declares that runs its futures at
/// the same time. Figures that are no number of milliseconds count nothing.
///
/// ```
/// use deadline_runtime::{Budgeted, Longest, Millis};
///
/// struct Race<A, B>(A, B);
///
/// impl<A: Budgeted<Budget = Millis<400>>, B: Budgeted<Budget = Millis<250>>> Budgeted for Race<A, B> {
///     type Budget = Longest<(Millis<400>, Millis<250>)>;
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Longest<T>(PhantomData<T>);

/// A figure among several.
pub trait Part: 'static {
    #[doc(hidden)]
    const PART: Declared;
}

/// A tuple of figures.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of figures",
    note = "write `Longest<(Millis<400>, Millis<250>)>`"
)]
pub trait OneOf: 'static {
    #[doc(hidden)]
    const ALL: &'static [Declared];
}

impl<const CAP: u64, const PLAN: u64> Part for Millis<CAP, PLAN> {
    const PART: Declared = Self::DECLARED;
}

impl<const TIMES: u64, const EACH: u64, const BACKOFFS: u64> Part
    for Attempts<TIMES, EACH, BACKOFFS>
{
    const PART: Declared = Self::DECLARED;
}

impl<const CAP: u64> Part for Percent<CAP> {
    const PART: Declared = Declared::Nothing;
}

impl Part for Unbudgeted {
    const PART: Declared = Declared::Nothing;
}

impl<T: OneOf> Part for Longest<T> {
    const PART: Declared = Self::DECLARED;
}

impl<T: OneOf> Declares for Longest<T> {
    const DECLARED: Declared = Declared::Longest(T::ALL);
}

impl<T: OneOf> Sealed for Longest<T> {}

impl<T: OneOf> Figure for Longest<T> {
    const BUDGET: Budget = match Price::declared(Declared::Longest(T::ALL)) {
        Some(price) => Budget::new(Duration::from_millis(price.cap)),
        None => Budget::inherited(),
    };
}

macro_rules! tuples {
    ($first:ident $($name:ident)*) => {
        impl<$first: Part, $($name: Part),*> OneOf for ($first, $($name,)*) {
            const ALL: &'static [Declared] = &[$first::PART, $($name::PART),*];
        }
        tuples!($($name)*);
    };
    () => {};
}

tuples!(A B C D E F G H I J K L M N O P);
