//! Budgets as types: what a future declares, readable by the compiler.

use std::pin::Pin;
use std::time::Duration;

use crate::time::Budget;

pub(crate) use self::sealed::Sealed;

mod sealed {
    pub trait Sealed {}
}

/// A budget written in a type. Sealed: the figures are [`Millis`], [`Attempts`], [`Longest`](crate::Longest),
/// [`Percent`] and [`Unbudgeted`].
pub trait Figure: sealed::Sealed + 'static {
    #[doc(hidden)]
    const BUDGET: Budget;
}

/// A budget of `CAP` milliseconds, of which a normal run takes `PLAN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millis<const CAP: u64, const PLAN: u64 = CAP>;

/// What a combinator that tries again declares: `TIMES` attempts of at least `EACH` milliseconds, and `BACKOFFS`
/// milliseconds of waiting between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts<const TIMES: u64, const EACH: u64, const BACKOFFS: u64 = 0>;

/// A budget of `CAP` percent of what the parent has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent<const CAP: u64>;

/// No budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbudgeted;

impl<const CAP: u64, const PLAN: u64> sealed::Sealed for Millis<CAP, PLAN> {}
impl<const CAP: u64, const PLAN: u64> Figure for Millis<CAP, PLAN> {
    const BUDGET: Budget = Budget::new(Duration::from_millis(CAP));
}

impl<const TIMES: u64, const EACH: u64, const BACKOFFS: u64> sealed::Sealed
    for Attempts<TIMES, EACH, BACKOFFS>
{
}
impl<const TIMES: u64, const EACH: u64, const BACKOFFS: u64> Figure
    for Attempts<TIMES, EACH, BACKOFFS>
{
    const BUDGET: Budget = Budget::new(Duration::from_millis(
        EACH.saturating_mul(TIMES).saturating_add(BACKOFFS),
    ));
}

impl<const CAP: u64> sealed::Sealed for Percent<CAP> {}
impl<const CAP: u64> Figure for Percent<CAP> {
    const BUDGET: Budget = Budget::percent(CAP);
}

impl sealed::Sealed for Unbudgeted {}
impl Figure for Unbudgeted {
    const BUDGET: Budget = Budget::inherited();
}

/// A future that declares in its type how long it may take.
///
/// Every function under `#[deadline]` returns one, so the figure is readable across crates, re-exports, methods,
/// trait impls and generics, without generated items. Boxed, pinned and borrowed futures keep it.
///
/// ```
/// use deadline_runtime::{Budgeted, Millis, Stopped, deadline};
///
/// #[deadline(budget = "450ms")]
/// async fn load() -> Result<(), Stopped> {
///     Ok(())
/// }
///
/// fn declares<F: Budgeted<Budget = Millis<450>>>(_: F) {}
/// declares(load());
/// declares(Box::pin(load()));
/// ```
///
/// Not a subtrait of `Future`: the two stand side by side in every signature, and clippy would call one of them implied.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares no budget",
    label = "not a future of a function under `#[deadline]`",
    note = "where this is a method of a trait: write `#[deadline(…, keep_async)]` on the trait's default method, or `#[deadline]` on this one as well"
)]
pub trait Budgeted {
    /// The figure.
    type Budget: Figure;
}

impl<F: Budgeted + ?Sized> Budgeted for Box<F> {
    type Budget = F::Budget;
}

impl<F: Budgeted + ?Sized> Budgeted for &mut F {
    type Budget = F::Budget;
}

impl<P> Budgeted for Pin<P>
where
    P: std::ops::DerefMut<Target: Budgeted>,
{
    type Budget = <P::Target as Budgeted>::Budget;
}
