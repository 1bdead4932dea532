//! The dearest way through a body.

use super::slots::Declared;
use super::step::Step;

/// More lines than this would be no glance any more.
pub(super) const MOST_LINES: usize = 12;

/// One call on the way.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) price: Price,
}

/// What it counts, and how that came about.
#[derive(Clone, Copy)]
pub(super) struct Price {
    pub(super) sum: u64,
    pub(super) times: u64,
    pub(super) each: u64,
    pub(super) backoffs: u64,
    /// The cap, where the sum is a plan.
    pub(super) planned: Option<u64>,
}

impl Price {
    const NOTHING: Self = Self::of(0);

    const fn of(millis: u64) -> Self {
        Self {
            sum: millis,
            times: 1,
            each: millis,
            backoffs: 0,
            planned: None,
        }
    }

    const fn times(self, times: u64) -> Self {
        Self {
            sum: self.sum.saturating_mul(times),
            times,
            each: self.sum,
            backoffs: 0,
            planned: None,
        }
    }

    const fn declared(declared: Declared) -> Option<Self> {
        match declared {
            Declared::Nothing | Declared::Several { .. } => None,
            Declared::Millis { cap, plan } => Some(Self {
                planned: if plan == cap { None } else { Some(cap) },
                ..Self::of(plan)
            }),
            Declared::Attempts {
                times,
                each,
                backoffs,
            } => Some(Self {
                sum: each.saturating_mul(times).saturating_add(backoffs),
                times,
                each,
                backoffs,
                planned: None,
            }),
        }
    }

    /// The most that the callee may take.
    const fn cap(self) -> u64 {
        match self.planned {
            Some(cap) => cap,
            None => self.sum,
        }
    }
}

/// One way through a piece of the body.
#[derive(Clone, Copy)]
pub(super) struct Path {
    pub(super) sum: u64,
    pub(super) lines: [Line; MOST_LINES],
    pub(super) len: usize,
    /// Calls that have no line of their own, and their sum.
    pub(super) more: usize,
    pub(super) more_sum: u64,
}

impl Path {
    const EMPTY: Self = Self {
        sum: 0,
        lines: [Line {
            name: "",
            price: Price::NOTHING,
        }; MOST_LINES],
        len: 0,
        more: 0,
        more_sum: 0,
    };

    const fn one(name: &'static str, price: Price) -> Self {
        let mut path = Self::EMPTY;
        path.sum = price.sum;
        path.lines[0] = Line { name, price };
        path.len = 1;
        path
    }

    const fn then(mut self, next: &Self, listing: bool) -> Self {
        self.sum = self.sum.saturating_add(next.sum);
        if listing {
            let mut index = 0;
            while index < next.len {
                let line = next.lines[index];
                if self.len < MOST_LINES {
                    self.lines[self.len] = line;
                    self.len += 1;
                } else {
                    self.more += 1;
                    self.more_sum = self.more_sum.saturating_add(line.price.sum);
                }
                index += 1;
            }
            self.more += next.more;
            self.more_sum = self.more_sum.saturating_add(next.more_sum);
        }
        self
    }
}

/// What the steps are read with.
pub(super) struct Prices {
    pub(super) declared: Declared,
    /// What percentages are of.
    pub(super) work: u64,
    /// Whether the lines are wanted, or the sum alone.
    pub(super) listing: bool,
}

/// The dearest ways that go on, that leave the innermost loop, and that get anywhere at all.
#[derive(Clone, Copy)]
struct Costs {
    through: Option<Path>,
    left: Option<Path>,
    reached: Path,
}

/// The dearest way from the first step to wherever it gets.
pub(super) const fn dearest(step: &Step<'_>, prices: &Prices) -> Path {
    Costs::of(step, prices).reached
}

impl Costs {
    const FREE: Self = Self::through(Path::EMPTY);
    const NEVER: Self = Self {
        through: None,
        left: None,
        reached: Path::EMPTY,
    };

    const fn of(step: &Step<'_>, prices: &Prices) -> Self {
        match step {
            Step::Call(number, name) => match Price::declared(prices.declared.at(*number)) {
                Some(price) => Self::through(Path::one(name, price)),
                None => Self::FREE,
            },
            Step::Budget(..) | Step::Share(..) | Step::Times(..) => {
                let (name, price) = fixed(step, prices);
                Self::through(Path::one(name, price))
            }
            Step::Around(budget, inner) => {
                let (name, price) = fixed(budget, prices);
                Self::of(inner, prices).replaced(Path::one(name, price))
            }
            Step::Then(steps) => {
                let mut costs = Self::FREE;
                let mut index = 0;
                while index < steps.len() {
                    costs = costs.then(&Self::of(&steps[index], prices), prices.listing);
                    index += 1;
                }
                costs
            }
            Step::Either(steps) | Step::Join(steps) => {
                let mut costs = if steps.is_empty() {
                    Self::FREE
                } else {
                    Self::NEVER
                };
                let mut index = 0;
                while index < steps.len() {
                    costs = costs.or(Self::of(&steps[index], prices));
                    index += 1;
                }
                costs
            }
            Step::Loop(body) => {
                let body = Self::of(body, prices);
                Self {
                    through: dearer(dearer(body.through, body.left), Some(Path::EMPTY)),
                    left: None,
                    reached: body.reached,
                }
            }
            Step::Forever(body) => {
                let body = Self::of(body, prices);
                Self {
                    through: body.left,
                    left: None,
                    reached: body.reached,
                }
            }
            Step::Return(value) => {
                let value = Self::of(value, prices);
                Self {
                    through: None,
                    ..value
                }
            }
            Step::Break(value) => {
                let value = Self::of(value, prices);
                Self {
                    through: None,
                    left: dearer(value.through, value.left),
                    reached: value.reached,
                }
            }
        }
    }

    const fn through(path: Path) -> Self {
        Self {
            through: Some(path),
            left: None,
            reached: path,
        }
    }

    const fn then(self, next: &Self, listing: bool) -> Self {
        let Some(before) = self.through else {
            return self;
        };
        Self {
            through: after(&before, next.through, listing),
            left: dearer(self.left, after(&before, next.left, listing)),
            reached: larger(self.reached, before.then(&next.reached, listing)),
        }
    }

    const fn or(self, other: Self) -> Self {
        Self {
            through: dearer(self.through, other.through),
            left: dearer(self.left, other.left),
            reached: larger(self.reached, other.reached),
        }
    }

    const fn replaced(self, path: Path) -> Self {
        Self {
            through: if self.through.is_some() {
                Some(path)
            } else {
                None
            },
            left: if self.left.is_some() {
                Some(path)
            } else {
                None
            },
            reached: path,
        }
    }
}

const fn after(before: &Path, next: Option<Path>, listing: bool) -> Option<Path> {
    match next {
        Some(next) => Some(before.then(&next, listing)),
        None => None,
    }
}

const fn dearer(left: Option<Path>, right: Option<Path>) -> Option<Path> {
    match (left, right) {
        (Some(left), Some(right)) => Some(larger(left, right)),
        (Some(path), None) | (None, Some(path)) => Some(path),
        (None, None) => None,
    }
}

const fn larger(left: Path, right: Path) -> Path {
    if right.sum > left.sum { right } else { left }
}

/// The name and the price of a `#[budget]`.
const fn fixed(step: &Step<'_>, prices: &Prices) -> (&'static str, Price) {
    match step {
        Step::Budget(millis, name) => (name, Price::of(*millis)),
        Step::Share(percent, name) => (name, Price::of(prices.work.saturating_mul(*percent) / 100)),
        Step::Times(times, step) => {
            let (name, price) = fixed(step, prices);
            (name, price.times(*times))
        }
        _ => ("", Price::NOTHING),
    }
}

/// The first call that may take more than all there is.
pub(super) const fn oversized(step: &Step<'_>, prices: &Prices) -> Option<(&'static str, u64)> {
    match step {
        Step::Call(number, name) => match Price::declared(prices.declared.at(*number)) {
            Some(price) if price.cap() > prices.work => Some((name, price.cap())),
            _ => None,
        },
        Step::Budget(..) | Step::Share(..) | Step::Times(..) => None,
        Step::Around(_, step)
        | Step::Loop(step)
        | Step::Forever(step)
        | Step::Return(step)
        | Step::Break(step) => oversized(step, prices),
        Step::Then(steps) | Step::Either(steps) | Step::Join(steps) => {
            let mut index = 0;
            while index < steps.len() {
                let found = oversized(&steps[index], prices);
                if found.is_some() {
                    return found;
                }
                index += 1;
            }
            None
        }
    }
}
