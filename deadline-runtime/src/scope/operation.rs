//! [`Operation`] and [`Spec`]: what is written about a scope where it is declared.

use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::figure::Figure;
use crate::stop::Limit;
use crate::time::{Budget, Figures};

/// The name, the place and the terms of a scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) location: &'static Location<'static>,
    pub(crate) terms: Terms,
}

/// What is said about a scope besides its name and its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) budget: Budget,
    pub(crate) figures: Figures,
    /// Running without any deadline in scope is an error.
    pub(crate) parent_required: bool,
}

impl Terms {
    /// Those of a context made by hand that has a limit, or none, and nothing else. The limit is fixed when it is made.
    const PLAIN: Self = Self::of(Budget::inherited());

    const fn of(budget: Budget) -> Self {
        Self {
            budget,
            figures: Figures::of(&budget),
            parent_required: false,
        }
    }

    /// What must be left to the hard end for it to begin, where nothing else has to be looked at.
    #[inline]
    pub(crate) const fn needs(&self) -> Option<u64> {
        if self.parent_required {
            return None;
        }
        self.figures.needs()
    }
}

impl Operation {
    pub(crate) const UNNAMED: Self = Self::new("unnamed", Location::caller(), Budget::inherited());

    const fn new(name: &'static str, location: &'static Location<'static>, budget: Budget) -> Self {
        Self {
            name,
            location,
            terms: Terms::of(budget),
        }
    }

    pub(crate) const fn limit(&self) -> Limit {
        Limit {
            operation: self.name,
            location: self.location,
        }
    }

    #[inline]
    pub(crate) const fn described(&self) -> Described<'_> {
        Described {
            name: self.name,
            location: self.location,
            terms: &self.terms,
        }
    }
}

impl Deref for Operation {
    type Target = Terms;

    #[inline]
    fn deref(&self) -> &Terms {
        &self.terms
    }
}

/// The same as a node has it: contexts are many, and mostly their terms are written down elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) location: &'static Location<'static>,
    terms: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Declared(&'static Terms),
    Own(Arc<Terms>),
}

impl Named {
    /// Of a context made by hand.
    pub(crate) fn new(
        name: &'static str,
        location: &'static Location<'static>,
        budget: &Budget,
    ) -> Self {
        let terms = if budget.is_plain() {
            Place::Declared(&Terms::PLAIN)
        } else {
            Place::Own(Arc::new(Terms::of(*budget)))
        };
        Self {
            name,
            location,
            terms,
        }
    }

    pub(crate) const fn limit(&self) -> Limit {
        Limit {
            operation: self.name,
            location: self.location,
        }
    }

    #[inline]
    pub(crate) fn described(&self) -> Described<'_> {
        Described {
            name: self.name,
            location: self.location,
            terms: self,
        }
    }
}

impl From<&'static Operation> for Named {
    fn from(operation: &'static Operation) -> Self {
        Self {
            name: operation.name,
            location: operation.location,
            terms: Place::Declared(&operation.terms),
        }
    }
}

impl Deref for Named {
    type Target = Terms;

    #[inline]
    fn deref(&self) -> &Terms {
        match &self.terms {
            Place::Declared(terms) => terms,
            Place::Own(terms) => terms,
        }
    }
}

/// An operation, wherever it is written down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described<'a> {
    pub(crate) name: &'static str,
    pub(crate) location: &'static Location<'static>,
    pub(crate) terms: &'a Terms,
}

impl Described<'_> {
    pub(crate) const fn limit(&self) -> Limit {
        Limit {
            operation: self.name,
            location: self.location,
        }
    }
}

impl Deref for Described<'_> {
    type Target = Terms;

    #[inline]
    fn deref(&self) -> &Terms {
        self.terms
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
        self.operation.terms = Terms {
            parent_required: self.operation.terms.parent_required,
            ..Terms::of(budget)
        };
        self
    }

    /// Milliseconds kept for the answer.
    #[must_use]
    pub const fn reserve(self, millis: u64) -> Self {
        let budget = self
            .operation
            .terms
            .budget
            .reserve(Duration::from_millis(millis));
        self.with(budget)
    }

    /// Milliseconds a useful run needs.
    #[must_use]
    pub const fn min(self, millis: u64) -> Self {
        let budget = self
            .operation
            .terms
            .budget
            .min(Duration::from_millis(millis));
        self.with(budget)
    }

    /// What a useful run needs, in percent of the budget.
    #[must_use]
    pub const fn min_percent(self, percent: u64) -> Self {
        let budget = self.operation.terms.budget.min_percent(percent);
        self.with(budget)
    }

    /// Milliseconds for tidying up after a stop.
    #[must_use]
    pub const fn cleanup(self, millis: u64) -> Self {
        let budget = self
            .operation
            .terms
            .budget
            .cleanup(Duration::from_millis(millis));
        self.with(budget)
    }

    /// Running without any deadline in scope is an error.
    #[must_use]
    pub const fn parent_required(mut self) -> Self {
        self.operation.terms.parent_required = true;
        self
    }
}
