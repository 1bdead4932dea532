//! What the dearest way through a body takes.

use super::price::{Price, larger};
use super::slots::Declared;
use super::step::{Kind, Step};

/// What the steps are read with.
#[derive(Clone, Copy)]
pub(super) struct Prices {
    pub(super) declared: Declared,
    /// What percentages are of.
    pub(super) work: u64,
}

/// How a way ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Behind the step.
    Through,
    /// By a `break` or `continue` of the loop around it.
    Left,
    /// Wherever it gets.
    Reached,
}

/// The dearest ways in milliseconds, by how they end.
#[derive(Clone, Copy)]
pub(super) struct Costs {
    through: Option<u64>,
    left: Option<u64>,
    reached: u64,
}

impl Costs {
    const FREE: Self = Self::through(0);

    pub(super) const fn by(&self, end: End) -> Option<u64> {
        match end {
            End::Through => self.through,
            End::Left => self.left,
            End::Reached => Some(self.reached),
        }
    }

    pub(super) const fn of(step: &Step, prices: &Prices) -> Self {
        match step.kind() {
            Kind::Call(number, _) => match Price::declared(prices.declared.at(number)) {
                Some(price) => Self::through(price.sum),
                None => Self::FREE,
            },
            Kind::Budget(..) | Kind::Share(..) | Kind::Times(..) => {
                Self::through(Price::fixed(step, prices).sum)
            }
            Kind::Around(budget, inner) => {
                let inner = Self::of(&inner, prices);
                let sum = Price::fixed(&budget, prices).sum;
                Self {
                    through: replaced(inner.through, sum),
                    left: replaced(inner.left, sum),
                    reached: sum,
                }
            }
            Kind::Then(mut steps) => {
                let mut costs = Self::FREE;
                while let Some(step) = steps.next() {
                    costs = costs.then(Self::of(&step, prices));
                }
                costs
            }
            Kind::Either(mut steps) | Kind::Join(mut steps) => {
                let Some(first) = steps.next() else {
                    return Self::FREE;
                };
                let mut costs = Self::of(&first, prices);
                while let Some(step) = steps.next() {
                    costs = costs.or(Self::of(&step, prices));
                }
                costs
            }
            Kind::Loop(body) => {
                let body = Self::of(&body, prices);
                Self {
                    through: dearer(dearer(body.through, body.left), Some(0)),
                    left: None,
                    ..body
                }
            }
            Kind::Forever(body) => {
                let body = Self::of(&body, prices);
                Self {
                    through: body.left,
                    left: None,
                    ..body
                }
            }
            Kind::Return(value) => Self {
                through: None,
                ..Self::of(&value, prices)
            },
            Kind::Break(value) => {
                let value = Self::of(&value, prices);
                Self {
                    through: None,
                    left: dearer(value.through, value.left),
                    ..value
                }
            }
        }
    }

    const fn through(sum: u64) -> Self {
        Self {
            through: Some(sum),
            left: None,
            reached: sum,
        }
    }

    pub(super) const fn then(self, next: Self) -> Self {
        let Some(before) = self.through else {
            return self;
        };
        Self {
            through: after(before, next.through),
            left: dearer(self.left, after(before, next.left)),
            reached: larger(self.reached, before.saturating_add(next.reached)),
        }
    }

    const fn or(self, other: Self) -> Self {
        Self {
            through: dearer(self.through, other.through),
            left: dearer(self.left, other.left),
            reached: larger(self.reached, other.reached),
        }
    }
}

const fn after(before: u64, next: Option<u64>) -> Option<u64> {
    match next {
        Some(next) => Some(before.saturating_add(next)),
        None => None,
    }
}

const fn replaced(old: Option<u64>, sum: u64) -> Option<u64> {
    match old {
        Some(_) => Some(sum),
        None => None,
    }
}

const fn dearer(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(larger(left, right)),
        (Some(sum), None) | (None, Some(sum)) => Some(sum),
        (None, None) => None,
    }
}
