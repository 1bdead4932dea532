//! Whether every attribute is where it can have its effect.

use crate::faults::Faults;
use crate::model::Function;
use crate::model::shape::{Shape, returns_never};
use crate::nearest::nearest;
use crate::parse::deadline::Parent;
use crate::parse::options::bare;
use crate::parse::statement::Statement;
use crate::parse::statements::Placed;
use syn::spanned::Spanned as _;
use syn::{Expr, FnArg, ItemFn, Pat};

pub(super) fn check(function: &Function, faults: &mut Faults) {
    signature(function, faults);
    for placed in &function.statements {
        statement(placed, &function.statements, faults);
    }
}

fn signature(function: &Function, faults: &mut Faults) {
    let item = &function.item;
    if let Some(Parent::Parameter(name)) = &function.scope.parent
        && !parameters(item).any(|parameter| *name == parameter)
    {
        let names: Vec<String> = parameters(item).collect();
        let hint = nearest(&name.to_string(), names.iter().map(String::as_str))
            .map_or_else(String::new, |name| format!(", did you mean `{name}`?"));
        faults.at(name.span(), format!("there is no parameter `{name}`{hint}\n`parent` accepts a parameter of type `Context` or `&Context`, or \"required\""));
    }
    if let Some(name) = &function.scope.bind
        && parameters(item).any(|parameter| *name == parameter)
    {
        faults.at(name.span(), format!("`{name}` is a parameter already: choose another name, or write `parent = {name}` when it is the `Context` to run under"));
    }
    fallback(function.scope.fallback.as_ref(), faults);
    if function.scope.fallback.is_none() && returns_never(item) {
        faults.at(item.sig.output.span(), "a function that never returns cannot carry a stop: add `fallback = panic!(…)` or another expression that does not return");
    }
    if function.shape == Shape::Block
        && let Some(span) = function.scope.keep_async
    {
        faults.at(
            span,
            "`keep_async` keeps an `async fn`, and this function is none",
        );
    }
}

fn fallback(value: Option<&Expr>, faults: &mut Faults) {
    if let Some(Expr::Closure(closure)) = value.map(bare)
        && closure.inputs.len() != 1
    {
        faults.at(
            closure.span(),
            "a fallback that is a closure takes one argument, the `Stopped`\nwithout need of it leave the `|…|` out: `fallback = EXPR`",
        );
    }
}

fn parameters(item: &ItemFn) -> impl Iterator<Item = String> {
    item.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(pat) => Some(pat.ident.to_string()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    })
}

fn statement(placed: &Placed, all: &[Placed], faults: &mut Faults) {
    let within = |test: fn(&Statement) -> bool| {
        placed
            .within
            .iter()
            .any(|outer| test(&all[*outer].statement))
    };
    if let Some(operator) = placed.cut_off.as_ref().filter(|_| placed.awaits > 0) {
        faults.at(placed.span, format!("this covers what is left of `{operator}` alone, and there is an `await` on its right\nput the left side into parentheses if that is meant, or the attribute on the whole statement: on its `let`, or on a block around it"));
    }
    match &placed.statement {
        Statement::NoCheckpoint => {
            if !placed.on_a_loop {
                faults.at(
                    placed.span,
                    "`#[checkpoint(off)]` belongs on a `loop`, `while` or `for`",
                );
            }
        }
        Statement::Budget(budget) => {
            fallback(budget.fallback.as_ref(), faults);
            if let Some(times) = budget.times.as_ref().filter(|_| !placed.on_a_loop) {
                faults.at(times.span, "`times` says how often a loop runs at most: put the attribute on a `loop`, `while` or `for`, or leave `times` out");
            }
            covers_something("budget", placed, faults);
            if within(|outer| matches!(outer, Statement::Shield(_))) {
                faults.at(placed.span, "a `#[budget]` inside a `#[shield]`: the shield is the bound of everything in it, give the tighter figure there");
            }
        }
        Statement::Shield(_) => {
            covers_something("shield", placed, faults);
            if within(|outer| matches!(outer, Statement::Shield(_))) {
                faults.at(
                    placed.span,
                    "a `#[shield]` inside a `#[shield]`: remove one",
                );
            }
            for span in &placed.nested_awaits {
                faults.at(*span, "a shield is entered before its future is made, and that cannot contain another `await`: bind the inner value by a `let` of its own first");
            }
        }
    }
}

fn covers_something(name: &str, placed: &Placed, faults: &mut Faults) {
    if placed.awaits == 0 {
        faults.at(
            placed.span,
            format!(
                "this `#[{name}]` covers no `await`\nan attribute binds to the left side of `=` and of operators: put it on the `let`, or around the whole in a block `#[{name}(…)] {{ … }}`; closures, async blocks and macros such as `select!` are not looked into"
            ),
        );
    }
}
