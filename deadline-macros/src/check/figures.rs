//! The figures of `#[deadline(…)]` against each other.

use crate::duration::figure;
use crate::faults::Faults;
use crate::model::{Scope, millis};
use crate::parse::Given;
use crate::parse::amount::Amount;

pub(super) fn check(scope: &Scope, faults: &mut Faults) {
    no_percentage("reserve", scope.reserve.as_ref(), faults);
    no_percentage("cleanup", scope.cleanup.as_ref(), faults);
    no_percentage("plan", scope.plan.as_ref(), faults);

    let Some(budget) = &scope.budget else {
        without_a_budget(scope, faults);
        return;
    };
    plan(scope, budget, faults);
    let Amount::Millis(budget) = budget.value else {
        return;
    };

    let reserve = millis(scope.reserve.as_ref()).unwrap_or(0);
    let cleanup = millis(scope.cleanup.as_ref()).unwrap_or(0);
    let kept = reserve.saturating_add(cleanup);
    if kept >= budget {
        too_much_kept(scope, budget, reserve, cleanup, faults);
        return;
    }
    if let (Some(min), Some(given)) = (millis(scope.min.as_ref()), &scope.min) {
        let work = budget - kept;
        if min > work {
            let of = if kept == 0 {
                String::new()
            } else {
                format!(" ({} less what is kept, {})", figure(budget), figure(kept))
            };
            faults.at(
                given.span,
                format!(
                    "`min` of {} can never be met: {} are there to work with{of}, so every start would be refused\naccepted is up to \"{}\"",
                    figure(min),
                    figure(work),
                    figure(work)
                ),
            );
        }
    }
}

fn no_percentage(name: &str, given: Option<&Given<Amount>>, faults: &mut Faults) {
    if let Some(Given {
        value: Amount::Percent(_),
        span,
    }) = given
    {
        faults.at(*span, format!("`{name}` accepts a duration, such as \"100ms\"; percentages are for `budget` and `min`"));
    }
}

fn without_a_budget(scope: &Scope, faults: &mut Faults) {
    if let Some(plan) = &scope.plan {
        faults.at(
            plan.span,
            "`plan` says how much of a `budget` a normal run takes: add `budget = …`",
        );
    }
    if let Some(Given {
        value: Amount::Percent(_),
        span,
    }) = &scope.min
    {
        faults.at(
            *span,
            "a percentage for `min` is one of `budget`: add `budget = …` or write a duration",
        );
    }
}

fn plan(scope: &Scope, budget: &Given<Amount>, faults: &mut Faults) {
    let Some(plan) = &scope.plan else { return };
    match (&budget.value, &plan.value) {
        (Amount::Percent(_), _) => {
            faults.at(plan.span, "`plan` needs a `budget` that is a duration: a percentage counts nothing in the sums that `plan` is for");
        }
        (Amount::Millis(budget), Amount::Millis(plan_millis)) if plan_millis > budget => faults.at(
            plan.span,
            format!(
                "`plan` of {} is more than the budget of {}\naccepted is up to \"{}\"",
                figure(*plan_millis),
                figure(*budget),
                figure(*budget)
            ),
        ),
        _ => {}
    }
}

fn too_much_kept(scope: &Scope, budget: u64, reserve: u64, cleanup: u64, faults: &mut Faults) {
    let total = figure(budget);
    let nothing_left = "leaves nothing to work with";
    if let Some(given) = scope.reserve.as_ref().filter(|_| reserve >= budget) {
        faults.at(given.span, format!("`reserve` of {} {nothing_left}: the budget is {total}\naccepted is less than \"{total}\"", figure(reserve)));
    }
    if let Some(given) = scope.cleanup.as_ref().filter(|_| cleanup >= budget) {
        faults.at(given.span, format!("`cleanup` of {} {nothing_left}: the budget is {total}\naccepted is less than \"{total}\"", figure(cleanup)));
    }
    if reserve < budget && cleanup < budget {
        let sum = figure(reserve.saturating_add(cleanup));
        for given in scope.reserve.iter().chain(&scope.cleanup) {
            faults.at(
                given.span,
                format!(
                    "`reserve` of {} and `cleanup` of {} are {sum} together, which {nothing_left}: the budget is {total}",
                    figure(reserve),
                    figure(cleanup)
                ),
            );
        }
    }
}
