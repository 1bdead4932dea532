//! The statement budgets of one function, added up along every path.

use crate::duration::figure;
use crate::faults::Faults;
use crate::model::flow::{self, Flow};
use crate::model::shape::with_own_body;
use crate::model::{Function, Scope, millis};
use crate::parse::amount::Amount;
use crate::parse::statement::Statement;
use crate::parse::statements::Placed;

pub(super) fn check(function: &mut Function, faults: &mut Faults) {
    if !function.statements.iter().any(|placed| {
        matches!(
            placed.statement,
            Statement::Budget(_) | Statement::Shield(_)
        )
    }) {
        return;
    }
    let frame = Frame::of(&function.scope);
    for placed in &function.statements {
        single(placed, &function.statements, &frame, faults);
    }
    if function.scope.allow_overcommit || !faults.none() {
        return;
    }
    let mut flow = Flow::Nothing;
    with_own_body(function.shape, &mut function.item.block, |body| {
        flow = flow::of(body, &function.statements);
    });
    sequence(&flow, &function.statements, &frame, faults);
}

/// What the statements have to fit into.
struct Frame {
    budget: Option<u64>,
    reserve: u64,
    cleanup: u64,
}

impl Frame {
    fn of(scope: &Scope) -> Self {
        Frame {
            budget: millis(scope.budget.as_ref()),
            reserve: millis(scope.reserve.as_ref()).unwrap_or(0),
            cleanup: millis(scope.cleanup.as_ref()).unwrap_or(0),
        }
    }

    /// The budget without reserve and cleanup: what statements and children have.
    fn work(&self) -> Option<u64> {
        Some(
            self.budget?
                .saturating_sub(self.reserve)
                .saturating_sub(self.cleanup),
        )
    }

    /// ` (900ms less a reserve of 100ms)`.
    fn explained(&self) -> String {
        let kept: Vec<String> = [("reserve", self.reserve), ("cleanup", self.cleanup)]
            .into_iter()
            .filter(|(_, millis)| *millis > 0)
            .map(|(name, millis)| format!("a {name} of {}", figure(millis)))
            .collect();
        match self.budget {
            Some(budget) if !kept.is_empty() => {
                format!(" ({} less {})", figure(budget), kept.join(" and "))
            }
            _ => String::new(),
        }
    }
}

/// One attribute alone.
fn single(placed: &Placed, all: &[Placed], frame: &Frame, faults: &mut Faults) {
    let (name, amount) = match &placed.statement {
        Statement::Budget(budget) => ("budget", &budget.amount),
        Statement::Shield(shield) => ("shield", &shield.amount),
        Statement::NoCheckpoint => return,
    };
    let Amount::Millis(own) = amount.value else {
        if let (Statement::Shield(_), Amount::Percent(_)) = (&placed.statement, &amount.value) {
            faults.at(
                amount.span,
                "`#[shield]` accepts a duration, such as \"50ms\"",
            );
        }
        return;
    };
    // A shield may use the reserve: it runs up to the hard deadline.
    let (limit, explained) = match placed.statement {
        Statement::Shield(_) => (frame.budget, String::new()),
        _ => (frame.work(), frame.explained()),
    };
    if let Some(limit) = limit.filter(|limit| own > *limit) {
        faults.at(
            amount.span,
            format!(
                "this {name} of {} is more than the function has: {}{explained}\naccepted is up to \"{}\"",
                figure(own),
                figure(limit),
                figure(limit)
            ),
        );
        return;
    }
    let outer = placed
        .within
        .iter()
        .filter_map(|outer| match &all.get(*outer)?.statement {
            Statement::Budget(budget) => millis(Some(&budget.amount)),
            _ => None,
        });
    if let Some(outer) = outer.min().filter(|outer| own > *outer) {
        let (own, outer) = (figure(own), figure(outer));
        let message = match placed.statement {
            Statement::Shield(_) => format!(
                "this shield of {own} is inside a budget of {outer}, which does not end it and would be overrun\naccepted is up to \"{outer}\", or take the shielded part out of the budget"
            ),
            _ => format!("this budget of {own} is inside one of {outer}, which always ends first"),
        };
        faults.at(amount.span, message);
    }
}

/// The dearest way through the body.
fn sequence(flow: &Flow, statements: &[Placed], frame: &Frame, faults: &mut Faults) {
    let unit = if frame.work().is_some() {
        Unit::Millis(frame.work())
    } else {
        Unit::Percent
    };
    let dearest = Costs::of(flow, &Prices { statements, unit }).dearest();
    match (frame.work(), unit) {
        (Some(work), Unit::Millis(_)) if dearest.sum > work => {
            let calls = dearest.list(statements, unit);
            let over = figure(dearest.sum - work);
            let message = format!(
                "the budgets in this function need {} one after the other ({calls}), but it has {}{}: {over} too much\nnarrow one of them, raise the function's budget, run them at the same time with `join!`, or write `allow_overcommit`",
                figure(dearest.sum),
                figure(work),
                frame.explained(),
            );
            report(&dearest, statements, work, &message, faults);
        }
        (None, Unit::Percent) if dearest.sum > 100 => {
            let calls = dearest.list(statements, unit);
            let message = format!(
                "the budgets in this function need {}% one after the other ({calls}), and there is 100%\nnarrow one of them, run them at the same time with `join!`, or write `allow_overcommit`",
                dearest.sum
            );
            report(&dearest, statements, 100, &message, faults);
        }
        _ => {}
    }
}

/// At the first budget that does not fit any more.
fn report(path: &Path, statements: &[Placed], limit: u64, message: &str, faults: &mut Faults) {
    let mut sum = 0_u64;
    for (number, price) in &path.steps {
        sum = sum.saturating_add(*price);
        if sum > limit {
            if let Some(Statement::Budget(budget)) =
                statements.get(*number).map(|placed| &placed.statement)
            {
                faults.at(budget.amount.span, message);
            }
            return;
        }
    }
}

/// What the sums count in: milliseconds where the function has a budget of its own (percentages are of its work
/// budget), else percentages of what will be left.
#[derive(Clone, Copy)]
enum Unit {
    Millis(Option<u64>),
    Percent,
}

struct Prices<'a> {
    statements: &'a [Placed],
    unit: Unit,
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
struct Path {
    sum: u64,
    steps: Vec<(usize, u64)>,
}

impl Path {
    fn then(&self, next: &Path) -> Path {
        Path {
            sum: self.sum.saturating_add(next.sum),
            steps: [&*self.steps, &*next.steps].concat(),
        }
    }

    /// `250ms + 700ms`.
    fn list(&self, statements: &[Placed], unit: Unit) -> String {
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
struct Costs {
    /// Goes on behind.
    through: Option<Path>,
    /// Leaves the nearest loop.
    left: Option<Path>,
    /// Leaves the function.
    returned: Option<Path>,
}

impl Costs {
    fn of(flow: &Flow, prices: &Prices) -> Costs {
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

    fn dearest(self) -> Path {
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
