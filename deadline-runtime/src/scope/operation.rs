//! [`Operation`] and [`Spec`]: what is written about a scope where it is declared.

use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;

use crate::figure::Figure;
use crate::stop::Limit;
use crate::time::{Budget, Figures};

/// The name, the place and the figures of a scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) location: &'static Location<'static>,
    pub(crate) budget: Budget,
    pub(crate) figures: Figures,
    /// Running without any deadline in scope is an error.
    pub(crate) parent_required: bool,
    /// The least that must be left to the hard end for it to begin, where nothing but figures has to be compared.
    pub(crate) plainly: Option<u64>,
}

impl Operation {
    pub(crate) const UNNAMED: Self = Self::new("unnamed", Location::caller(), Budget::inherited());

    pub(crate) const fn new(
        name: &'static str,
        location: &'static Location<'static>,
        budget: Budget,
    ) -> Self {
        Self {
            name,
            location,
            budget,
            figures: Figures::of(&budget),
            parent_required: false,
            plainly: Figures::of(&budget).needs(),
        }
    }

    pub(crate) const fn limit(&self) -> Limit {
        Limit {
            operation: self.name,
            location: self.location,
        }
    }
}

/// The declaration of an annotated function or statement, with its budget in the type.
#[derive(Debug)]
pub struct Spec<B> {
    pub(crate) operation: Operation,
    budget: PhantomData<fn() -> B>,
}

impl<B: Figure> Spec<B> {
    /// The place of the caller is what `Stopped::limited_by` names.
    #[track_caller]
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            operation: Operation::new(name, Location::caller(), B::BUDGET),
            budget: PhantomData,
        }
    }

    const fn with(mut self, budget: Budget) -> Self {
        self.operation.budget = budget;
        self.operation.figures = Figures::of(&budget);
        if !self.operation.parent_required {
            self.operation.plainly = self.operation.figures.needs();
        }
        self
    }

    /// Milliseconds kept for the answer.
    #[must_use]
    pub const fn reserve(self, millis: u64) -> Self {
        let budget = self.operation.budget.reserve(Duration::from_millis(millis));
        self.with(budget)
    }

    /// Milliseconds a useful run needs.
    #[must_use]
    pub const fn min(self, millis: u64) -> Self {
        let budget = self.operation.budget.min(Duration::from_millis(millis));
        self.with(budget)
    }

    /// What a useful run needs, in percent of the budget.
    #[must_use]
    pub const fn min_percent(self, percent: u64) -> Self {
        let budget = self.operation.budget.min_percent(percent);
        self.with(budget)
    }

    /// Milliseconds for tidying up after a stop.
    #[must_use]
    pub const fn cleanup(self, millis: u64) -> Self {
        let budget = self.operation.budget.cleanup(Duration::from_millis(millis));
        self.with(budget)
    }

    /// Running without any deadline in scope is an error.
    #[must_use]
    pub const fn parent_required(mut self) -> Self {
        self.operation.parent_required = true;
        self.operation.plainly = None;
        self
    }
}
