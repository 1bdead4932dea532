//! The labelled block around a statement with a fallback, and what leaves it for the loop outside.

use crate::syntax::Arguments;
use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Expr, ExprAsync, ExprBreak, ExprClosure, ExprConst, ExprContinue, ExprForLoop, ExprLoop,
    ExprMacro, ExprWhile, Item, Label, Lifetime, Token,
};

/// The label of such a block. Every depth has another: rustc warns of one that hides another.
pub(super) fn budget(depth: usize, place: Span) -> Lifetime {
    let name = match depth {
        0 => "'budget".to_owned(),
        inner => format!("'budget{inner}"),
    };
    Lifetime::new(&name, Span::mixed_site().located_at(place))
}

/// The loops around a place in the body.
#[derive(Default)]
pub(super) struct Rounds(Vec<Round>);

struct Round {
    label: Lifetime,
    /// Whether the label is ours and somebody needs it.
    missing: bool,
}

impl Rounds {
    /// Every depth has another label, as above.
    pub(super) fn enter(&mut self, label: Option<&Label>, token: Span) {
        let ours = || {
            let name = format!("'round{}", self.0.len());
            Lifetime::new(&name, Span::mixed_site().located_at(token))
        };
        let label = label.map_or_else(ours, |label| label.name.clone());
        self.0.push(Round {
            label,
            missing: false,
        });
    }

    /// The label that the loop needs in addition.
    pub(super) fn leave(&mut self, written: Option<&Label>) -> Option<Label> {
        let round = self.0.pop()?;
        (round.missing && written.is_none()).then(|| Label {
            colon_token: Token![:](round.label.span()),
            name: round.label,
        })
    }

    // Input:   match first().await { Some(n) => n, None => continue }
    // Output:  match first().await { Some(n) => n, None => continue 'round0 }
    //
    // Around this comes a labelled block, and rustc refuses a `continue` there that does not say where it goes.
    pub(super) fn label(&mut self, expr: &mut Expr) {
        if let Some(round) = self.0.last_mut() {
            ToTheLoop(round).visit_expr_mut(expr);
        }
    }
}

struct ToTheLoop<'a>(&'a mut Round);

impl ToTheLoop<'_> {
    fn name(&mut self, label: &mut Option<Lifetime>, place: Span) {
        if label.is_none() {
            let mut name = self.0.label.clone();
            name.set_span(name.span().located_at(place));
            *label = Some(name);
            self.0.missing = true;
        }
    }
}

impl VisitMut for ToTheLoop<'_> {
    fn visit_expr_break_mut(&mut self, expr: &mut ExprBreak) {
        self.name(&mut expr.label, expr.break_token.span);
        visit_mut::visit_expr_break_mut(self, expr);
    }

    fn visit_expr_continue_mut(&mut self, expr: &mut ExprContinue) {
        self.name(&mut expr.label, expr.continue_token.span);
    }

    fn visit_expr_macro_mut(&mut self, expr: &mut ExprMacro) {
        if let Some(mut arguments) = Arguments::read(&expr.mac) {
            arguments
                .iter_mut()
                .for_each(|argument| self.visit_expr_mut(argument));
            expr.mac.tokens = arguments.into_tokens();
        }
    }

    // What is in the body of another loop belongs to that.
    fn visit_expr_for_loop_mut(&mut self, expr: &mut ExprForLoop) {
        self.visit_expr_mut(&mut expr.expr);
    }

    fn visit_expr_while_mut(&mut self, _: &mut ExprWhile) {}
    fn visit_expr_loop_mut(&mut self, _: &mut ExprLoop) {}
    fn visit_expr_closure_mut(&mut self, _: &mut ExprClosure) {}
    fn visit_expr_async_mut(&mut self, _: &mut ExprAsync) {}
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
    fn visit_item_mut(&mut self, _: &mut Item) {}
}
