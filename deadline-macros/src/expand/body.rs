//! Walks through a body: awaits, loops, statement attributes, macros. Closures, async blocks and nested items are left
//! alone, because they run in another place or at another time.

use super::fit::Fit;
use super::labels::{self, Rounds};
use super::{awaits, statements, stop};
use crate::model::later::Later;
use crate::model::{Scope, calls, names};
use crate::parse::Given;
use crate::parse::amount::Amount;
use crate::parse::statement::Statement;
use crate::parse::statements::{Placed, mark};
use crate::syntax::{Arguments, Known, attrs_mut, guard_mut, known};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, ExprAsync, ExprClosure, ExprConst, ExprForLoop, ExprLoop, ExprMacro,
    ExprWhile, Item, Macro, Pat, Stmt, Type,
};

/// What the rewritten body needs in scope.
#[derive(Clone, Copy, Default)]
pub(super) struct Rewritten {
    gates: bool,
    settles: bool,
}

impl Rewritten {
    // Output:  use {Gates as _, Settle as _};
    pub(super) fn uses(self, holds: bool, scope: &Scope) -> TokenStream {
        let private = scope.runtime.private(Span::mixed_site());
        let traits = [
            self.gates.then(|| quote!(Gates as _)),
            holds.then(|| quote!(HandsOut as _)),
            self.settles.then(|| quote!(Settle as _)),
        ];
        let traits: Vec<TokenStream> = traits.into_iter().flatten().collect();
        match &*traits {
            [] => TokenStream::new(),
            [one] => quote!(use #private::#one;),
            all => quote!(use #private::{#(#all),*};),
        }
    }
}

pub(super) fn rewrite(
    body: &mut Block,
    scope: &Scope,
    statements: &[Placed],
    fit: Option<&Fit>,
) -> Rewritten {
    let mut rewriter = Rewriter {
        scope,
        statements,
        fit,
        cover: Vec::new(),
        later: Later::in_body(body),
        rounds: Rounds::default(),
        paced: false,
        needs: Rewritten::default(),
    };
    rewriter.visit_block_mut(body);
    rewriter.needs
}

pub(super) struct Rewriter<'a> {
    pub(super) scope: &'a Scope,
    statements: &'a [Placed],
    fit: Option<&'a Fit>,
    /// What the awaits at this place are under; the last one counts.
    cover: Vec<Cover<'a>>,
    later: Later,
    pub(super) rounds: Rounds,
    /// Whether a variable `pace` is in scope: that of the outermost loop.
    paced: bool,
    needs: Rewritten,
}

pub(super) enum Cover<'a> {
    Nothing,
    /// With its fallback.
    Limit(Option<Expr>),
    Shield(&'a Placed),
}

impl<'a> Rewriter<'a> {
    /// Takes the marks from some attributes.
    pub(super) fn take(&self, attrs: &mut Vec<Attribute>) -> Vec<&'a Placed> {
        let mut taken = Vec::new();
        attrs.retain(|attr| match mark(attr) {
            Some(number) => {
                taken.extend(self.statements.get(number));
                false
            }
            None => true,
        });
        taken
    }

    /// The call that counts for this constant.
    pub(super) fn constant(&self, amount: &Given<Amount>) -> Option<usize> {
        let is_it = |placed: &Placed| match &placed.statement {
            Statement::Budget(budget) => std::ptr::eq(&raw const budget.amount, amount),
            _ => false,
        };
        self.fit?.constant(self.statements.iter().position(is_it)?)
    }

    pub(super) fn under<T>(&mut self, cover: Cover<'a>, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.cover.push(cover);
        let result = visit(self);
        self.cover.pop();
        result
    }

    /// Visits an expression whose own marks have been taken.
    pub(super) fn inside(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Await(_) => self.awaited(expr),
            Expr::Call(_) if calls::numbered(expr).is_some() => self.branch(expr),
            Expr::Macro(ExprMacro { mac, .. })
                if self.is_covered() && known(mac) == Known::Joins =>
            {
                self.joined(expr);
            }
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }

    /// Whether a variable `limit` is in scope.
    pub(super) fn is_limited(&self) -> bool {
        self.cover
            .iter()
            .any(|cover| matches!(cover, Cover::Limit(_)))
    }

    /// How many blocks with a fallback are around this place.
    pub(super) fn replaceable(&self) -> usize {
        self.cover
            .iter()
            .filter(|cover| matches!(cover, Cover::Limit(Some(_))))
            .count()
    }

    pub(super) fn is_covered(&self) -> bool {
        matches!(self.cover.last(), Some(Cover::Limit(_) | Cover::Shield(_)))
    }

    fn awaited(&mut self, expr: &mut Expr) {
        let Expr::Await(awaited) = std::mem::replace(expr, Expr::Verbatim(TokenStream::new()))
        else {
            return;
        };
        let mut awaited = awaited;
        let call = calls::take_number(&mut awaited.base);
        let later = self.later.concerns(&awaited.base);
        let name = match self.cover.last() {
            Some(Cover::Shield(_)) => names::called(&awaited.base),
            _ => String::new(),
        };
        self.visit_expr_mut(&mut awaited.base);
        let scope = self.scope;
        *expr = match self.cover.last() {
            Some(Cover::Limit(None)) => awaits::limit(awaited, scope),
            Some(Cover::Limit(Some(fallback))) => {
                self.needs.settles = true;
                let label = labels::budget(self.replaceable() - 1, awaited.await_token.span);
                awaits::limit_or(awaited, fallback, &label, scope)
            }
            Some(Cover::Shield(Placed {
                statement: Statement::Shield(shield),
                ..
            })) => awaits::shield(awaited, &shield.amount, &name, scope),
            _ if scope.cleanup.is_some() => {
                self.needs.settles = true;
                awaits::guard(awaited, call, scope)
            }
            _ if scope.gates() => {
                self.needs.gates |= !later;
                awaits::gate(awaited, call, later, scope)
            }
            _ => awaits::plain(awaited, call, scope),
        };
    }

    // Input:   join!(a(), b())
    // Output:  join!(counted(call_0, a()), counted(call_1, b()))
    fn branch(&mut self, expr: &mut Expr) {
        let call = calls::take_number(expr);
        visit_mut::visit_expr_mut(self, expr);
        *expr = Expr::Verbatim(awaits::counted(expr, call, self.scope));
    }

    // Input:   join!(a(), b())
    // Output:  async { join!(a(), b()) }.await    (and that in turn under its limit)
    fn joined(&mut self, expr: &mut Expr) {
        let span = Span::mixed_site().located_at(expr.span());
        let whole = Expr::Verbatim(quote_spanned!(span=> async { #expr }));
        *expr = Expr::Await(syn::ExprAwait {
            attrs: Vec::new(),
            base: Box::new(whole),
            dot_token: syn::Token![.](span),
            await_token: syn::Token![await](span),
        });
        self.awaited(expr);
    }

    // Input:   loop { BODY }
    // Output:  loop {
    //              if let Some(stopped) = pace.checkpoint() { return STOP; }
    //              BODY
    //          }
    fn checkpoint(&self, body: &mut Block, token: Span) {
        let span = Span::mixed_site().located_at(token);
        let leave = stop::leave(self.scope, span);
        let checkpoint = quote_spanned! {span=>
            if let ::core::option::Option::Some(stopped) = pace.checkpoint() { #leave }
        };
        body.stmts
            .insert(0, Stmt::Expr(Expr::Verbatim(checkpoint), None));
    }

    // Output:  { let mut pace = Pace::new(); LOOP }
    fn with_pace(&self, expr: &mut Expr, token: Span) {
        let span = Span::mixed_site().located_at(token);
        let private = self.scope.runtime.private(span);
        let pace = quote_spanned!(span=> let mut pace = #private::Pace::new(););
        statements::enclose(expr, Some(Stmt::Expr(Expr::Verbatim(pace), None)));
    }

    /// A loop whose marks have been taken, `placed` among them.
    pub(super) fn repeat(&mut self, expr: &mut Expr, placed: &[&'a Placed]) {
        let per_round = statements::per_round(placed);
        let checked = self.scope.loops()
            && !placed
                .iter()
                .any(|placed| matches!(placed.statement, Statement::NoCheckpoint));
        let (outside, body, label, token) = match expr {
            Expr::ForLoop(ExprForLoop {
                expr,
                body,
                label,
                for_token,
                ..
            }) => (Some(expr), body, label, for_token.span),
            Expr::While(ExprWhile {
                cond,
                body,
                label,
                while_token,
                ..
            }) => (Some(cond), body, label, while_token.span),
            Expr::Loop(ExprLoop {
                body,
                label,
                loop_token,
                ..
            }) => (None, body, label, loop_token.span),
            _ => return,
        };
        let around = self.paced;
        if let Some(budget) = per_round {
            if let Some(outside) = outside {
                self.under(Cover::Nothing, |rewriter| rewriter.visit_expr_mut(outside));
            }
            let start = statements::start(self, &budget.amount, &names::first_called_in(body));
            let cover = Cover::Limit(statements::fallback(self, budget));
            self.rounds.enter(label.as_ref(), token);
            self.paced |= checked;
            self.under(cover, |rewriter| rewriter.visit_block_mut(body));
            if checked {
                self.checkpoint(body, token);
            }
            body.stmts.insert(0, start);
        } else {
            if let Some(outside) = outside {
                self.visit_expr_mut(outside);
            }
            self.rounds.enter(label.as_ref(), token);
            self.paced |= checked;
            self.visit_block_mut(body);
            if checked {
                self.checkpoint(body, token);
            }
        }
        let ours = self.rounds.leave(label.as_ref());
        *label = label.take().or(ours);
        self.paced = around;
        if checked && !around {
            self.with_pace(expr, token);
        }
    }

    fn arguments(&mut self, mac: &mut Macro) {
        if let Some(mut arguments) = Arguments::read(mac) {
            // What the macro does with them is not known: not even whether two of them are in use at once.
            let paced = std::mem::take(&mut self.paced);
            arguments
                .iter_mut()
                .for_each(|argument| self.visit_expr_mut(argument));
            self.paced = paced;
            mac.tokens = arguments.into_tokens();
        }
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let stmts = std::mem::take(&mut block.stmts);
        for stmt in stmts {
            statements::statement(self, stmt, &mut block.stmts);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let placed = match attrs_mut(expr) {
            Some(attrs) if !attrs.is_empty() => self.take(attrs),
            _ => Vec::new(),
        };
        statements::expression(self, expr, &placed);
    }

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        self.arguments(mac);
    }

    fn visit_expr_closure_mut(&mut self, _: &mut ExprClosure) {}
    fn visit_expr_async_mut(&mut self, _: &mut ExprAsync) {}
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
    fn visit_item_mut(&mut self, _: &mut Item) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        if let Some(guard) = guard_mut(pat) {
            self.visit_expr_mut(guard);
        }
    }
}
