//! What stands where it can have no effect, or where it would leave a place that cannot be left.

use super::statement::{Kind, name_span};
use crate::faults::Faults;
use proc_macro2::Span;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{Attribute, ExprAsync, ExprAwait, ExprClosure, ExprReturn, ExprTry, Item};

/// Reports what would leave a branch of a `join!` under a budget. Such a `join!` goes into an async block as a whole,
/// and from there neither `?` nor `return` nor an `await` reaches the function.
pub(super) struct Exits<'a>(pub(super) &'a mut Faults);

impl Exits<'_> {
    fn report(&mut self, span: Span) {
        self.0.at(
            span,
            "not inside a `join!` that has a budget: bind the value by a `let` of its own first",
        );
    }
}

impl Visit<'_> for Exits<'_> {
    fn visit_expr_try(&mut self, expr: &ExprTry) {
        self.report(expr.question_token.span);
    }

    fn visit_expr_return(&mut self, expr: &ExprReturn) {
        self.report(expr.return_token.span);
    }

    fn visit_expr_await(&mut self, expr: &ExprAwait) {
        self.report(expr.await_token.span);
    }

    fn visit_expr_closure(&mut self, _: &ExprClosure) {}
    fn visit_expr_async(&mut self, _: &ExprAsync) {}
    fn visit_item(&mut self, _: &Item) {}
}

/// Reports our attributes where nothing would serve them.
pub(super) struct Strays<'a> {
    pub(super) place: &'static str,
    pub(super) faults: &'a mut Faults,
}

impl VisitMut for Strays<'_> {
    fn visit_attributes_mut(&mut self, attrs: &mut Vec<Attribute>) {
        attrs.retain(|attr| {
            let Some(kind) = Kind::of(attr) else { return true };
            let (name, what) = match kind {
                Kind::Budget => ("budget", "cap"),
                Kind::Shield => ("shield", "shield"),
                Kind::Checkpoint => ("checkpoint", "checkpoint"),
            };
            self.faults.at(
                name_span(attr),
                format!(
                    "`#[{name}]` has no effect in {}, which may run in another task and another scope\nput it outside, or give the work a function of its own with `#[deadline]` and {what} it there",
                    self.place
                ),
            );
            false
        });
    }

    fn visit_item_mut(&mut self, _: &mut Item) {}
}
