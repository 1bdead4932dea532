//! What the dearest way through a body costs.

use crate::duration::figure;
use crate::model::flow::Flow;
use crate::parse::amount::Amount;
use crate::parse::statement::Statement;
use crate::parse::statements::Placed;

/// What the sums count in: milliseconds where the function has a budget of its own (percentages are of its work
/// budget), else percentages of what will be left.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Millis(Option<u64>),
    Percent,
}

pub(super) struct Prices<'a> {
    pub(super) statements: &'a [Placed],
    pub(super) unit: Unit,
}

impl Prices<'_> {
    fn of(&self, number: usize) -> Option<u64> {
        let Statement::Budget(budget) = &self.statements.get(number)?.statement else {
            return None;
        };
        let once = match (&budget.amount.value, self.unit) {
            (Amount::Millis(millis), Unit::Millis(_)) => *millis,
            (Amount::Percent(percent), Unit::Millis(Some(work))) => {
                work.saturating_mul(*percent) / 100
            }
            (Amount::Percent(percent), Unit::Percent) => *percent,
            _ => return None,
        };
        Some(once.saturating_mul(budget.times.as_ref().map_or(1, |times| times.value)))
    }
}

/// One way through a piece of the body: which budgets it meets.
#[derive(Clone, Default)]
pub(super) struct Path {
    pub(super) sum: u64,
    pub(super) steps: Vec<(usize, u64)>,
}

impl Path {
    fn then(&self, next: &Path) -> Path {
        Path {
            sum: self.sum.saturating_add(next.sum),
            steps: [&*self.steps, &*next.steps].concat(),
        }
    }

    /// `250ms + 700ms`.
    pub(super) fn list(&self, statements: &[Placed], unit: Unit) -> String {
        let show = |(number, price): &(usize, u64)| {
            let price = match unit {
                Unit::Millis(_) => figure(*price),
                Unit::Percent => format!("{price}%"),
            };
            match statements.get(*number).map(|placed| &placed.statement) {
                Some(Statement::Budget(budget)) if budget.times.is_some() => {
                    let times = budget.times.as_ref().map_or(1, |times| times.value);
                    format!("{price} for {times} rounds")
                }
                _ => price,
            }
        };
        self.steps.iter().map(show).collect::<Vec<_>>().join(" + ")
    }
}

/// The dearest path of each kind, `None` where there is none.
pub(super) struct Costs {
    /// Goes on behind.
    through: Option<Path>,
    /// Leaves the nearest loop.
    left: Option<Path>,
    /// Leaves the function.
    returned: Option<Path>,
}

impl Costs {
    pub(super) fn of(flow: &Flow, prices: &Prices) -> Costs {
        match flow {
            Flow::Nothing | Flow::Call(_) => Costs::through(Path::default()),
            Flow::Sequence(steps) => steps
                .iter()
                .fold(Costs::through(Path::default()), |costs, step| {
                    costs.then(step, prices)
                }),
            Flow::Either(steps) | Flow::Together(steps) => {
                let mut costs = Costs {
                    through: None,
                    left: None,
                    returned: None,
                };
                for step in steps {
                    costs = costs.or(Costs::of(step, prices));
                }
                if steps.is_empty() {
                    Costs::through(Path::default())
                } else {
                    costs
                }
            }
            Flow::Conditional(steps) => steps
                .iter()
                .fold(Costs::through(Path::default()), |costs, step| {
                    costs.or(Costs::of(step, prices))
                }),
            Flow::Covered(number, inner) => match prices.of(*number) {
                Some(price) => Costs::of(inner, prices).replaced(&Path {
                    sum: price,
                    steps: vec![(*number, price)],
                }),
                None => Costs::of(inner, prices),
            },
            Flow::Loop { body, ends } => {
                let body = Costs::of(body, prices);
                let through = if *ends {
                    dearer(dearer(body.through, body.left), Some(Path::default()))
                } else {
                    body.left
                };
                Costs {
                    through,
                    left: None,
                    returned: body.returned,
                }
            }
            Flow::Return(value) => {
                let value = Costs::of(value, prices);
                Costs {
                    through: None,
                    left: value.left,
                    returned: dearer(value.through, value.returned),
                }
            }
            Flow::Leave(value) => {
                let value = Costs::of(value, prices);
                Costs {
                    through: None,
                    left: dearer(value.through, value.left),
                    returned: value.returned,
                }
            }
        }
    }

    fn through(path: Path) -> Costs {
        Costs {
            through: Some(path),
            left: None,
            returned: None,
        }
    }

    fn then(self, next: &Flow, prices: &Prices) -> Costs {
        let Some(before) = &self.through else {
            return self;
        };
        let next = Costs::of(next, prices);
        let after = |path: Option<Path>| path.map(|path| before.then(&path));
        Costs {
            through: after(next.through),
            left: dearer(self.left, after(next.left)),
            returned: dearer(self.returned, after(next.returned)),
        }
    }

    fn or(self, other: Costs) -> Costs {
        Costs {
            through: dearer(self.through, other.through),
            left: dearer(self.left, other.left),
            returned: dearer(self.returned, other.returned),
        }
    }

    fn replaced(self, path: &Path) -> Costs {
        let replace = |old: Option<Path>| old.map(|_| path.clone());
        Costs {
            through: replace(self.through),
            left: replace(self.left),
            returned: replace(self.returned),
        }
    }

    pub(super) fn dearest(self) -> Path {
        dearer(dearer(self.through, self.left), self.returned).unwrap_or_default()
    }
}

fn dearer(left: Option<Path>, right: Option<Path>) -> Option<Path> {
    match (left, right) {
        (Some(left), Some(right)) if right.sum > left.sum => Some(right),
        (Some(left), _) => Some(left),
        (None, right) => right,
    }
}
