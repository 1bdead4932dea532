//! What a function has, and the check that its calls fit.

use std::marker::PhantomData;

use super::costs::{Costs, End, Prices};
use super::message;
use super::slots::{Declared, Declares};
use super::step::Step;
use super::trace::{Trace, oversized};

/// Proof that calls which declare `D` fit.
#[derive(Debug, PartialEq, Eq)]
pub struct Fit<D>(PhantomData<D>);

impl<D> Fit<D> {
    #[inline(always)]
    pub(super) const fn assumed() -> Self {
        Self(PhantomData)
    }
}

/// Implemented by the calls of one function, for whatever they turn out to declare.
#[diagnostic::on_unimplemented(message = "the calls of this function cannot be counted")]
pub trait Fits<D> {
    /// Evaluating it is the check. Where it depends on a const parameter, rustc shows this line beside its error.
    #[rustfmt::skip]
    const BUDGET: Fit<D>; // of a const parameter? `#[budget("…")]` at that await, or `allow_overcommit`
}

/// The figures of a function with a budget of its own.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub(super) name: &'static str,
    pub(super) budget: u64,
    pub(super) reserve: u64,
    pub(super) cleanup: u64,
    /// What the statements with a budget of their own take at most.
    statements: u64,
}

impl Limits {
    /// The name of the function and its budget in milliseconds.
    #[must_use]
    pub const fn of(name: &'static str, budget: u64) -> Self {
        Self {
            name,
            budget,
            reserve: 0,
            cleanup: 0,
            statements: 0,
        }
    }

    /// Milliseconds kept for the answer.
    #[must_use]
    pub const fn reserve(mut self, millis: u64) -> Self {
        self.reserve = millis;
        self
    }

    /// Milliseconds for tidying up after a stop.
    #[must_use]
    pub const fn cleanup(mut self, millis: u64) -> Self {
        self.cleanup = millis;
        self
    }

    /// Milliseconds that the statements under `#[budget]` take together at most.
    #[must_use]
    pub const fn statements(mut self, millis: u64) -> Self {
        self.statements = millis;
        self
    }

    /// What there is to work with.
    pub(super) const fn work(&self) -> u64 {
        self.budget
            .saturating_sub(self.reserve)
            .saturating_sub(self.cleanup)
    }

    /// Holds when the dearest way through the body fits.
    ///
    /// # Panics
    /// While the program is compiled, when it does not. Never under `--cfg deadline_unchecked`.
    #[track_caller]
    #[must_use]
    pub const fn hold<D: Declares>(self, body: &'static str) -> Fit<D> {
        if !cfg!(deadline_unchecked) {
            // No way through it is dearer than all of it. This is what the compiler's time goes to, so the body is read
            // only where it matters which way is taken.
            let work = self.work();
            if work == 0 || D::SUM.saturating_add(self.statements) > work || D::CAP > work {
                self.check(&D::DECLARED, &Step::read(body));
            }
        }
        Fit::assumed()
    }

    #[track_caller]
    const fn check(&self, declared: &Declared, body: &Step) {
        let work = self.work();
        let prices = Prices {
            declared: *declared,
            work,
        };
        if work == 0 {
            message::nothing_left(self);
        }
        if let Some(sum) = Costs::of(body, &prices).by(End::Reached)
            && sum > work
        {
            message::too_much(self, sum, &Trace::of(body, &prices));
        }
        // Its plan fits and its cap does not.
        if declared.largest_cap() > work
            && let Some((name, cap)) = oversized(body, &prices)
        {
            message::oversized(self, name, cap);
        }
    }
}
