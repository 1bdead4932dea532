//! [`Branch`]: one piece of work and whether the answer needs it.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::panic::Location;

use super::errors::{Fails, Never};
use super::gathered::Missed;
use super::spawned::Spawned;
use crate::figure::{Budgeted, Figure, Unbudgeted};
use crate::stop::Stopped;
use crate::time::Budget;

/// One piece of work of a fan-out, and whether the answer needs it.
///
/// Made by [`required`], [`optional`] or [`branch`]; the future yields a `Result`.
#[derive(Debug)]
#[must_use = "a branch does nothing until it is part of a `fan_out` that is awaited"]
pub struct Branch<F, N, C = ByCallee> {
    pub(super) name: &'static str,
    pub(super) location: &'static Location<'static>,
    pub(super) budget: Budget,
    pub(super) future: F,
    pub(super) need: N,
    cap: PhantomData<fn() -> C>,
}

/// A branch without which there is no answer: its failure is the failure of the whole, and stops the others.
///
/// Its error type has a place for a stop (`From<Stopped>`), as that of an annotated function. All required branches
/// of one fan-out have the same one.
#[track_caller]
pub fn required<F, T, E>(name: &'static str, future: F) -> Branch<F::IntoFuture, Required>
where
    F: IntoFuture<Output = Result<T, E>>,
    E: From<Stopped>,
{
    Branch::new(name, Location::caller(), future.into_future(), Required)
}

/// A branch that an answer can do without: when it fails or is cut off, its value is a [`Missed`] with the cause.
///
/// Its error may be of any type.
#[track_caller]
pub fn optional<F, T, E>(name: &'static str, future: F) -> Branch<F::IntoFuture, Optional>
where
    F: IntoFuture<Output = Result<T, E>>,
{
    Branch::new(name, Location::caller(), future.into_future(), Optional)
}

/// A branch that is required or not as `need` says, for [`fan_out_all`](super::fan_out_all) over a list of both.
///
/// Its value is a `Result` either way; that of a required one is `Ok` in every answer.
#[track_caller]
pub fn branch<F, T, E>(name: &'static str, need: Need, future: F) -> Branch<F::IntoFuture, Need>
where
    F: IntoFuture<Output = Result<T, E>>,
    E: From<Stopped>,
{
    Branch::new(name, Location::caller(), future.into_future(), need)
}

impl<F, N> Branch<F, N> {
    fn new(name: &'static str, location: &'static Location<'static>, future: F, need: N) -> Self {
        Self {
            name,
            location,
            budget: Budget::inherited(),
            future,
            need,
            cap: PhantomData,
        }
    }
}

impl<F, N, C> Branch<F, N, C> {
    /// The branch's own cut-off, counted from where it begins: what it calls sees it as its deadline. A branch which
    /// finds less left than the budget's minimum does not begin.
    ///
    /// The default is the deadline around. The compiler cannot read it: in sums the branch counts nothing, see
    /// [`capped`](Self::capped).
    pub fn budget(self, budget: impl Into<Budget>) -> Branch<F, N, AtRunTime> {
        self.with(budget.into())
    }

    /// As [`budget`](Self::budget), written in the type, so that the compiler adds it up.
    ///
    /// ```
    /// use deadline_runtime::fan_out::{fan_out, optional};
    /// use deadline_runtime::{Budgeted, Millis, Stopped};
    ///
    /// fn declares(_: &impl Budgeted) {}
    /// let page = fan_out((optional("ads", async { Ok::<_, Stopped>(1) }).capped::<Millis<250>>(),));
    /// declares(&page);
    /// ```
    pub fn capped<B: Figure>(self) -> Branch<F, N, Capped<B>> {
        self.with(B::BUDGET)
    }

    /// Runs the branch in a task of its own, so that one that computes does not hold the others up.
    ///
    /// The task belongs to the branch, in a [`Group`](crate::Group): it has its cut-off, it is cancelled with it, and when the branch is
    /// stopped or dropped it is joined, or aborted when its grace is over.
    ///
    /// # Panics
    /// When it begins, outside a tokio runtime; and with the panic of the task.
    ///
    /// ```
    /// use deadline_runtime::fan_out::{fan_out, required};
    /// use deadline_runtime::Stopped;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Stopped> {
    /// let page = fan_out((
    ///     required("sums", async { Ok::<u64, Stopped>((0..1_000).sum()) }).spawned(),
    ///     required("quick", async { Ok::<_, Stopped>(1) }),
    /// ))
    /// .await?;
    /// assert_eq!(page.values, (499_500, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawned(self) -> Branch<Spawned<F>, N, C>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Branch {
            name: self.name,
            location: self.location,
            budget: self.budget,
            future: Spawned::new(self.future),
            need: self.need,
            cap: PhantomData,
        }
    }

    fn with<X>(self, budget: Budget) -> Branch<F, N, X> {
        Branch {
            name: self.name,
            location: self.location,
            budget,
            future: self.future,
            need: self.need,
            cap: PhantomData,
        }
    }
}

/// The branch has no cut-off of its own: what its future declares counts.
#[derive(Debug)]
pub struct ByCallee;

/// The branch has a cut-off that is known at run time.
#[derive(Debug)]
pub struct AtRunTime;

/// The branch has the cut-off `B`.
#[derive(Debug)]
pub struct Capped<B>(PhantomData<B>);

/// What a branch counts in sums.
pub trait Counts {
    #[doc(hidden)]
    type Figure;
}

impl<F: Budgeted, N> Counts for Branch<F, N, ByCallee> {
    type Figure = F::Budget;
}

impl<F, N> Counts for Branch<F, N, AtRunTime> {
    type Figure = Unbudgeted;
}

impl<F, N, B> Counts for Branch<F, N, Capped<B>> {
    type Figure = B;
}

/// The answer needs it. Made by [`required`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Required;

/// The answer can do without it. Made by [`optional`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Optional;

/// Whether the answer needs a branch, where that is known at run time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// As [`required`].
    Required,
    /// As [`optional`].
    Optional,
}

/// What becomes of a finished branch.
#[derive(Debug)]
pub enum Settled<V, E> {
    /// It is there.
    Value(V),
    /// It is not, and the answer can do without.
    Missed(V),
    /// It is not, and there is no answer.
    Failed(E),
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Required {}
    impl Sealed for super::Optional {}
    impl Sealed for super::Need {}
}

/// How a kind of branch answers. Sealed: the kinds are [`Required`], [`Optional`] and [`Need`].
pub trait Kind<T, E>: sealed::Sealed {
    /// What stands for the branch in the answer.
    type Value;
    #[doc(hidden)]
    type Fails;
    #[doc(hidden)]
    fn settle(&self, outcome: Result<T, Missed<E>>) -> Settled<Self::Value, Self::Fails>;
}

impl<T, E: From<Stopped>> Kind<T, E> for Required {
    type Value = T;
    type Fails = Fails<E>;

    fn settle(&self, outcome: Result<T, Missed<E>>) -> Settled<T, Fails<E>> {
        match outcome {
            Ok(value) => Settled::Value(value),
            Err(missed) => Settled::Failed(Fails(missed.into_error())),
        }
    }
}

impl<T, E> Kind<T, E> for Optional {
    type Value = Result<T, Missed<E>>;
    type Fails = Never;

    fn settle(&self, outcome: Result<T, Missed<E>>) -> Settled<Self::Value, Never> {
        match outcome {
            Ok(value) => Settled::Value(Ok(value)),
            Err(missed) => Settled::Missed(Err(missed)),
        }
    }
}

impl<T, E: From<Stopped>> Kind<T, E> for Need {
    type Value = Result<T, Missed<E>>;
    type Fails = Fails<E>;

    fn settle(&self, outcome: Result<T, Missed<E>>) -> Settled<Self::Value, Fails<E>> {
        match (self, outcome) {
            (_, Ok(value)) => Settled::Value(Ok(value)),
            (Self::Optional, Err(missed)) => Settled::Missed(Err(missed)),
            (Self::Required, Err(missed)) => Settled::Failed(Fails(missed.into_error())),
        }
    }
}
