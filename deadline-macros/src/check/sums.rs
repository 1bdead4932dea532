//! The statement budgets of one function, added up along every path.

use super::costs::{Costs, Path, Prices, Unit};
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
