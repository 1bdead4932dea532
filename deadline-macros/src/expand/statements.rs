//! `#[budget]` and `#[shield]` on statements and expressions.

use super::body::{Cover, Rewriter};
use super::{fit, labels, spec};
use crate::model::names::first_called_in_expr;
use crate::parse::Given;
use crate::parse::amount::Amount;
use crate::parse::statement::{Budget, Statement};
use crate::parse::statements::Placed;
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::visit_mut::VisitMut as _;
use syn::{
    Attribute, Block, Expr, ExprBlock, ExprMacro, Label, Local, Stmt, StmtMacro, Token, token,
};

// Input:   #[budget("250ms")] let orders = recent(user).await?;
// Output:  let limit = Limit::start(SPEC);
//          let orders = match limit.run(recent(user)).await { … }?;
pub(super) fn statement(rewriter: &mut Rewriter<'_>, stmt: Stmt, into: &mut Vec<Stmt>) {
    match stmt {
        Stmt::Local(mut local) => {
            let placed = rewriter.take(&mut local.attrs);
            self::local(rewriter, &mut local, &placed, into);
            into.push(Stmt::Local(local));
        }
        Stmt::Macro(StmtMacro {
            mut attrs,
            mac,
            semi_token,
        }) => {
            let placed = rewriter.take(&mut attrs);
            if placed.is_empty() && !rewriter.is_covered() {
                let mut stmt = Stmt::Macro(StmtMacro {
                    attrs,
                    mac,
                    semi_token,
                });
                rewriter.visit_stmt_mut(&mut stmt);
                into.push(stmt);
            } else {
                let mut expr = Expr::Macro(ExprMacro { attrs, mac });
                let start = hoist(rewriter, &mut expr, &placed);
                into.extend(start);
                into.push(Stmt::Expr(expr, semi_token));
            }
        }
        Stmt::Expr(mut expr, semi) => {
            let placed = crate::syntax::attrs_mut(&mut expr)
                .map_or_else(Vec::new, |attrs| rewriter.take(attrs));
            let start = hoist(rewriter, &mut expr, &placed);
            into.extend(start);
            into.push(Stmt::Expr(expr, semi));
        }
        item @ Stmt::Item(_) => into.push(item),
    }
}

fn local<'a>(
    rewriter: &mut Rewriter<'a>,
    local: &mut Local,
    placed: &[&'a Placed],
    into: &mut Vec<Stmt>,
) {
    let Some(init) = &mut local.init else { return };
    match cover(placed) {
        Some(Covering::Budget(budget)) if hoistable(rewriter, budget) => {
            let name = first_called_in_expr(&init.expr);
            let start = start(rewriter, &budget.amount, &name);
            into.push(with_cfg(&start, &local.attrs));
            rewriter.under(Cover::Limit(None), |rewriter| {
                rewriter.visit_expr_mut(&mut init.expr);
                if let Some((_, diverge)) = &mut init.diverge {
                    rewriter.visit_expr_mut(diverge);
                }
            });
        }
        covering => {
            covered(rewriter, &mut init.expr, covering);
            if let Some((_, diverge)) = &mut init.diverge {
                rewriter.visit_expr_mut(diverge);
            }
        }
    }
}

/// An expression statement: its limit goes before it.
fn hoist<'a>(rewriter: &mut Rewriter<'a>, expr: &mut Expr, placed: &[&'a Placed]) -> Option<Stmt> {
    match cover(placed) {
        Some(Covering::Budget(budget)) if hoistable(rewriter, budget) => {
            let start = with_cfg(
                &start(rewriter, &budget.amount, &first_called_in_expr(expr)),
                crate::syntax::attrs(expr),
            );
            rewriter.under(Cover::Limit(None), |rewriter| whole(rewriter, expr, placed));
            Some(start)
        }
        _ => {
            expression(rewriter, expr, placed);
            None
        }
    }
}

/// Inside another limit the variable needs a block of its own: the next statement is within the outer one again.
fn hoistable(rewriter: &Rewriter, budget: &Budget) -> bool {
    budget.fallback.is_none() && budget.times.is_none() && !rewriter.is_limited()
}

/// An expression somewhere inside a statement.
pub(super) fn expression<'a>(rewriter: &mut Rewriter<'a>, expr: &mut Expr, placed: &[&'a Placed]) {
    match cover(placed) {
        Some(Covering::Budget(budget)) if per_round(placed).is_some() => {
            whole(rewriter, expr, placed);
            if budget.fallback.is_some() {
                labelled(rewriter, expr, None);
            }
        }
        Some(covering) => {
            let (start, cover) = covering.open(rewriter, expr);
            rewriter.under(cover, |rewriter| whole(rewriter, expr, placed));
            covering.close(rewriter, expr, start);
        }
        None => whole(rewriter, expr, placed),
    }
}

/// The initialiser of a `let`, whose attributes were on the `let`.
fn covered<'a>(rewriter: &mut Rewriter<'a>, expr: &mut Expr, covering: Option<Covering<'a>>) {
    match covering {
        Some(covering) => {
            let (start, cover) = covering.open(rewriter, expr);
            rewriter.under(cover, |rewriter| rewriter.visit_expr_mut(expr));
            covering.close(rewriter, expr, start);
        }
        None => rewriter.visit_expr_mut(expr),
    }
}

fn whole<'a>(rewriter: &mut Rewriter<'a>, expr: &mut Expr, placed: &[&'a Placed]) {
    match expr {
        Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => rewriter.repeat(expr, placed),
        _ => rewriter.inside(expr),
    }
}

#[derive(Clone, Copy)]
enum Covering<'a> {
    Budget(&'a Budget),
    Shield(&'a Placed),
}

impl<'a> Covering<'a> {
    /// What begins in front of the expression, and what its awaits are under.
    fn open(self, rewriter: &mut Rewriter<'a>, expr: &mut Expr) -> (Option<Stmt>, Cover<'a>) {
        match self {
            Covering::Budget(budget) => {
                let start = start(rewriter, &budget.amount, &first_called_in_expr(expr));
                if budget.fallback.is_some() {
                    rewriter.rounds.label(expr);
                }
                (Some(start), Cover::Limit(fallback(rewriter, budget)))
            }
            Covering::Shield(placed) => (None, Cover::Shield(placed)),
        }
    }

    // Output:  { let limit = …; EXPR }    or with a fallback    'budget: { let limit = …; EXPR }
    fn close(self, rewriter: &Rewriter, expr: &mut Expr, start: Option<Stmt>) {
        if let Covering::Budget(budget) = self {
            if budget.fallback.is_some() {
                labelled(rewriter, expr, start);
            } else {
                enclose(expr, start);
            }
        }
    }
}

/// A block of its own for the expression and what begins in front of it.
pub(super) fn enclose(expr: &mut Expr, start: Option<Stmt>) {
    block(expr, None, start);
}

/// The fallback as it may stand inside the labelled block.
pub(super) fn fallback(rewriter: &mut Rewriter, budget: &Budget) -> Option<Expr> {
    let mut fallback = budget.fallback.clone()?;
    rewriter.rounds.label(&mut fallback);
    Some(fallback)
}

/// The block that a missed await leaves with the fallback.
fn labelled(rewriter: &Rewriter, expr: &mut Expr, start: Option<Stmt>) {
    let span = place(expr);
    let label = Label {
        name: labels::budget(rewriter.replaceable(), span),
        colon_token: Token![:](span),
    };
    block(expr, Some(label), start);
}

/// A block in the tree, so that the printer knows where it needs parentheses, and nothing is read a second time. The
/// user's attributes stay on the statement as a whole.
fn block(expr: &mut Expr, label: Option<Label>, start: Option<Stmt>) {
    let span = place(expr);
    let attrs = crate::syntax::attrs_mut(expr).map_or_else(Vec::new, std::mem::take);
    let value = std::mem::replace(expr, Expr::Verbatim(TokenStream::new()));
    let value = Stmt::Expr(value, None);
    *expr = Expr::Block(ExprBlock {
        attrs,
        label,
        block: Block {
            brace_token: token::Brace(span),
            stmts: start.into_iter().chain([value]).collect(),
        },
    });
}

fn place(expr: &Expr) -> Span {
    Span::mixed_site().located_at(crate::parse::options::start(expr))
}

fn cover<'a>(placed: &[&'a Placed]) -> Option<Covering<'a>> {
    placed.iter().find_map(|placed| match &placed.statement {
        Statement::Budget(budget) => Some(Covering::Budget(budget)),
        Statement::Shield(_) => Some(Covering::Shield(placed)),
        Statement::NoCheckpoint => None,
    })
}

/// The budget of every single round of a loop.
pub(super) fn per_round<'a>(placed: &[&'a Placed]) -> Option<&'a Budget> {
    placed.iter().find_map(|placed| match &placed.statement {
        Statement::Budget(budget) if budget.times.is_some() => Some(budget),
        _ => None,
    })
}

// Output:  let limit = Limit::start(SPEC);
//          let limit = limit.within(SPEC);    inside another one
//          let limit = Limit::start(covers(call_0, SPEC));    with a constant, which counts by its type
pub(super) fn start(rewriter: &Rewriter, amount: &Given<Amount>, name: &str) -> Stmt {
    let span = Span::mixed_site().located_at(amount.span);
    let private = rewriter.scope.runtime.private(span);
    let mut spec = spec::statement(amount, name, &rewriter.scope.runtime);
    if let Some(call) = rewriter.constant(amount) {
        let slot = fit::slot(call, span);
        spec = quote_spanned!(span=> #private::covers(#slot, #spec));
    }
    let begin = if rewriter.is_limited() {
        quote_spanned!(span=> let limit = limit.within(#spec);)
    } else {
        quote_spanned!(span=> let limit = #private::Limit::start(#spec);)
    };
    Stmt::Expr(Expr::Verbatim(begin), None)
}

/// A statement that is there under a condition takes its limit along.
fn with_cfg(start: &Stmt, attrs: &[Attribute]) -> Stmt {
    let cfg = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    Stmt::Expr(Expr::Verbatim(quote::quote!(#(#cfg)* #start)), None)
}
