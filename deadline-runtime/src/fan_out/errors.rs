//! The one error type of a fan-out, worked out from those of its branches.
//!
//! Optional branches cannot fail the whole, so they say nothing about it; required ones say all the same. A fan-out
//! without a required branch has the error [`Infallible`].

use std::convert::Infallible;

/// A failure of a branch whose error is `E`.
#[derive(Debug)]
pub struct Fails<E>(pub(super) E);

/// There is none.
#[derive(Debug)]
pub enum Never {}

/// What two sets of branches fail with.
#[diagnostic::on_unimplemented(
    message = "the required branches of a fan-out have different error types",
    note = "give them one, with `.map_err(…)` inside the branch, or make all but one kind `optional`"
)]
pub trait Join<T>: Sized {
    type Both;
    fn left(self) -> Self::Both;
    fn right(other: T) -> Self::Both;
}

impl Join<Self> for Never {
    type Both = Self;
    fn left(self) -> Self {
        self
    }
    fn right(other: Self) -> Self {
        other
    }
}

impl<E> Join<Fails<E>> for Never {
    type Both = Fails<E>;
    fn left(self) -> Fails<E> {
        match self {}
    }
    fn right(other: Fails<E>) -> Fails<E> {
        other
    }
}

impl<E> Join<Never> for Fails<E> {
    type Both = Self;
    fn left(self) -> Self {
        self
    }
    fn right(other: Never) -> Self {
        match other {}
    }
}

impl<E> Join<Self> for Fails<E> {
    type Both = Self;
    fn left(self) -> Self {
        self
    }
    fn right(other: Self) -> Self {
        other
    }
}

/// The failure as the error that is returned.
pub trait Failure {
    type Error;
    fn into_error(self) -> Self::Error;
}

impl Failure for Never {
    type Error = Infallible;
    fn into_error(self) -> Infallible {
        match self {}
    }
}

impl<E> Failure for Fails<E> {
    type Error = E;
    fn into_error(self) -> E {
        self.0
    }
}
