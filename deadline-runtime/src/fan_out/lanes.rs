//! [`Lanes`]: the branches of one fan-out, of different types or of one.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::branch::{Branch, Counts, Kind};
use super::errors::{Failure, Join, Never};
use super::lane::{Lane, Step};
use super::tuple::Branches;
use crate::context::current::Inherited;

/// Branches in a row, each found by its number. Not for use by hand.
pub trait Lanes {
    #[doc(hidden)]
    type Values;
    #[doc(hidden)]
    type Fails: Failure;

    #[doc(hidden)]
    fn count(&self) -> usize;

    #[doc(hidden)]
    fn poll_one(
        self: Pin<&mut Self>,
        index: usize,
        cx: &mut task::Context<'_>,
        parent: &Parent,
        moot: bool,
    ) -> Poll<Step<Self::Fails>>;

    /// Stops one because another has failed; true if it still has to be polled to its end.
    #[doc(hidden)]
    fn stop_one(self: Pin<&mut Self>, index: usize) -> bool;

    /// `None` unless every branch has a value that has not been taken.
    #[doc(hidden)]
    fn take(self: Pin<&mut Self>) -> Option<Self::Values>;
}

/// What the branches begin under.
#[derive(Clone)]
pub struct Parent(pub(super) Inherited);

/// No branch.
#[derive(Debug)]
pub struct End;

impl Lanes for End {
    type Values = ();
    type Fails = Never;

    fn count(&self) -> usize {
        0
    }

    fn poll_one(
        self: Pin<&mut Self>,
        _: usize,
        _: &mut task::Context<'_>,
        _: &Parent,
        _: bool,
    ) -> Poll<Step<Never>> {
        Poll::Pending
    }

    fn stop_one(self: Pin<&mut Self>, _: usize) -> bool {
        false
    }

    fn take(self: Pin<&mut Self>) -> Option<()> {
        Some(())
    }
}

pin_project! {
    /// A branch and those after it.
    pub struct Chain<F, N, V, T>
    where
        F: Future,
    {
        #[pin]
        head: Lane<F, N, V>,
        #[pin]
        tail: T,
    }
}

impl<F: Future, N, V, T> Chain<F, N, V, T> {
    pub(super) fn new<C>(branch: Branch<F, N, C>, tail: T) -> Self {
        Self {
            head: Lane::new(branch),
            tail,
        }
    }
}

impl<F, N, V, E, T> Lanes for Chain<F, N, N::Value, T>
where
    F: Future<Output = Result<V, E>>,
    N: Kind<V, E>,
    T: Lanes,
    N::Fails: Join<T::Fails, Both: Failure>,
{
    type Values = (N::Value, T::Values);
    type Fails = <N::Fails as Join<T::Fails>>::Both;

    fn count(&self) -> usize {
        1 + self.tail.count()
    }

    fn poll_one(
        self: Pin<&mut Self>,
        index: usize,
        cx: &mut task::Context<'_>,
        parent: &Parent,
        moot: bool,
    ) -> Poll<Step<Self::Fails>> {
        let this = self.project();
        match index.checked_sub(1) {
            None => {
                let step = this.head.poll(cx, &parent.0, moot);
                step.map(|step| step.map(N::Fails::left))
            }
            Some(index) => {
                let step = this.tail.poll_one(index, cx, parent, moot);
                step.map(|step| step.map(<N::Fails as Join<T::Fails>>::right))
            }
        }
    }

    fn stop_one(self: Pin<&mut Self>, index: usize) -> bool {
        let this = self.project();
        match index.checked_sub(1) {
            None => this.head.stop(),
            Some(index) => this.tail.stop_one(index),
        }
    }

    fn take(self: Pin<&mut Self>) -> Option<Self::Values> {
        let this = self.project();
        Some((this.head.take()?, this.tail.take()?))
    }
}

/// The branches of [`fan_out_all`](super::fan_out_all): as many as there are, of one type.
pub struct Each<F, N, C>(pub(super) Vec<Branch<F, N, C>>);

impl<F, N, C> Counts for Each<F, N, C>
where
    Branch<F, N, C>: Counts,
{
    type Figure = <Branch<F, N, C> as Counts>::Figure;
}

/// The same while they run.
pub struct Row<F: Future, N, V>(Vec<Pin<Box<Lane<F, N, V>>>>);

impl<F, N, C, V, E> Branches for Each<F, N, C>
where
    F: Future<Output = Result<V, E>>,
    N: Kind<V, E>,
    N::Fails: Failure,
{
    type Lanes = Row<F, N, N::Value>;
    type Values = Vec<N::Value>;

    fn into_lanes(self) -> Self::Lanes {
        let lanes = self.0.into_iter();
        Row(lanes.map(|branch| Box::pin(Lane::new(branch))).collect())
    }

    fn values(values: Self::Values) -> Self::Values {
        values
    }
}

impl<F, N, V, E> Lanes for Row<F, N, N::Value>
where
    F: Future<Output = Result<V, E>>,
    N: Kind<V, E>,
    N::Fails: Failure,
{
    type Values = Vec<N::Value>;
    type Fails = N::Fails;

    fn count(&self) -> usize {
        self.0.len()
    }

    fn poll_one(
        mut self: Pin<&mut Self>,
        index: usize,
        cx: &mut task::Context<'_>,
        parent: &Parent,
        moot: bool,
    ) -> Poll<Step<Self::Fails>> {
        match self.0.get_mut(index) {
            Some(lane) => lane.as_mut().poll(cx, &parent.0, moot),
            None => Poll::Pending,
        }
    }

    fn stop_one(mut self: Pin<&mut Self>, index: usize) -> bool {
        let lane = self.0.get_mut(index);
        lane.is_some_and(|lane| lane.as_mut().stop())
    }

    fn take(mut self: Pin<&mut Self>) -> Option<Self::Values> {
        self.0.iter_mut().map(|lane| lane.as_mut().take()).collect()
    }
}
