//! Which calls are on the dearest way. Asked only when it does not fit.

use super::costs::{Costs, End, Prices};
use super::price::Price;
use super::step::{Kind, Step, Steps};

/// More lines than this would be no glance any more.
const MOST_LINES: usize = 12;

/// One call on the way.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) price: Price,
}

pub(super) struct Trace {
    lines: [Line; MOST_LINES],
    pub(super) len: usize,
    /// Calls that have no line of their own, and their sum.
    pub(super) more: usize,
    pub(super) more_sum: u64,
}

impl Trace {
    /// Of the dearest way to wherever it gets.
    pub(super) const fn of(step: &Step, prices: &Prices) -> Self {
        let mut trace = Self {
            lines: [Line {
                name: "",
                price: Price::NOTHING,
            }; MOST_LINES],
            len: 0,
            more: 0,
            more_sum: 0,
        };
        trace.follow(step, End::Reached, prices);
        trace
    }

    pub(super) const fn line(&self, index: usize) -> Line {
        self.lines[index]
    }

    const fn push(&mut self, name: &'static str, price: Price) {
        if self.len < MOST_LINES {
            self.lines[self.len] = Line { name, price };
            self.len += 1;
        } else {
            self.more += 1;
            self.more_sum = self.more_sum.saturating_add(price.sum);
        }
    }

    /// The dearest of the ways that end so.
    const fn follow(&mut self, step: &Step, end: End, prices: &Prices) {
        match step.kind() {
            Kind::Call(number, name) => {
                if let Some(price) = Price::declared(prices.declared.at(number)) {
                    self.push(name, price);
                }
            }
            Kind::Budget(..) | Kind::Share(..) | Kind::Times(..) => {
                self.push(name(step), Price::fixed(step, prices));
            }
            Kind::Around(budget, _) => {
                self.push(name(&budget), Price::fixed(&budget, prices));
            }
            Kind::Then(mut steps) => {
                let last = last_step(steps, end, prices);
                let mut index = 0;
                while let Some(step) = steps.next() {
                    if index == last {
                        return self.follow(&step, end, prices);
                    }
                    self.follow(&step, End::Through, prices);
                    index += 1;
                }
            }
            Kind::Either(steps) | Kind::Join(steps) => {
                if let Some(step) = dearest_of(steps, end, prices) {
                    self.follow(&step, end, prices);
                }
            }
            Kind::Loop(body) | Kind::Forever(body) => match end {
                End::Through => {
                    self.follow_round(&body, matches!(step.kind(), Kind::Loop(_)), prices);
                }
                End::Left => {}
                End::Reached => self.follow(&body, End::Reached, prices),
            },
            Kind::Return(value) => self.follow(&value, end, prices),
            Kind::Break(value) => match end {
                End::Left => self.follow_round(&value, true, prices),
                end => self.follow(&value, end, prices),
            },
        }
    }

    /// To the end of a round or to its `break`, whichever is dearer.
    const fn follow_round(&mut self, body: &Step, ends: bool, prices: &Prices) {
        let costs = Costs::of(body, prices);
        let end = match (costs.by(End::Through), costs.by(End::Left)) {
            (Some(through), Some(left)) if ends && through >= left => End::Through,
            (Some(_), None) if ends => End::Through,
            _ => End::Left,
        };
        if costs.by(end).is_some() {
            self.follow(body, end, prices);
        }
    }
}

/// The step in which the dearest of the ways that end so ends.
const fn last_step(mut steps: Steps, end: End, prices: &Prices) -> usize {
    let mut before = 0_u64;
    let (mut last, mut dearest) = (0, None);
    let mut index = 0;
    while let Some(step) = steps.next() {
        let costs = Costs::of(&step, prices);
        if let Some(sum) = costs.by(end)
            && exceeds(before.saturating_add(sum), dearest, end)
        {
            last = index;
            dearest = Some(before.saturating_add(sum));
        }
        match costs.by(End::Through) {
            Some(through) => before = before.saturating_add(through),
            None => return last,
        }
        index += 1;
    }
    last
}

/// A way through goes through every step.
const fn exceeds(sum: u64, dearest: Option<u64>, end: End) -> bool {
    match dearest {
        Some(dearest) => matches!(end, End::Through) || sum > dearest,
        None => true,
    }
}

const fn dearest_of(mut steps: Steps, end: End, prices: &Prices) -> Option<Step> {
    let (mut found, mut dearest) = (None, 0);
    while let Some(step) = steps.next() {
        if let Some(sum) = Costs::of(&step, prices).by(end)
            && (found.is_none() || sum > dearest)
        {
            found = Some(step);
            dearest = sum;
        }
    }
    found
}

/// What is under a `#[budget]`.
const fn name(step: &Step) -> &'static str {
    match step.kind() {
        Kind::Budget(_, name) | Kind::Share(_, name) | Kind::Call(_, name) => name,
        Kind::Times(_, step) => name(&step),
        _ => "",
    }
}

/// The first call that may take more than all there is.
pub(super) const fn oversized(step: &Step, prices: &Prices) -> Option<(&'static str, u64)> {
    match step.kind() {
        Kind::Call(number, name) => match Price::declared(prices.declared.at(number)) {
            Some(price) if price.cap > prices.work => Some((name, price.cap)),
            _ => None,
        },
        Kind::Budget(..) | Kind::Share(..) | Kind::Times(..) => None,
        Kind::Around(_, step)
        | Kind::Loop(step)
        | Kind::Forever(step)
        | Kind::Return(step)
        | Kind::Break(step) => oversized(&step, prices),
        Kind::Then(mut steps) | Kind::Either(mut steps) | Kind::Join(mut steps) => {
            while let Some(step) = steps.next() {
                let found = oversized(&step, prices);
                if found.is_some() {
                    return found;
                }
            }
            None
        }
    }
}
