//! The forms that an `await` takes.

use super::{fit, spec, stop};
use crate::model::Scope;
use crate::parse::Given;
use crate::parse::amount::Amount;
use crate::parse::options::start;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{Arm, Attribute, Expr, ExprAwait, ExprMatch, Lifetime, Pat, Token, token};

// Input:   EXPR.await
// Output:  At(EXPR).__deadline_gate(call_0).await
//          At(EXPR).__deadline_gate_alone().await    where it does not count
//          gate_later(call_0, EXPR, 0).await         where the type may be known only later
//
// These tokens take the place of the user's, so that a message about the whole begins where the user's code begins.
pub(super) fn gate(
    mut awaited: ExprAwait,
    call: Option<usize>,
    later: bool,
    scope: &Scope,
) -> Expr {
    let base = argument(&awaited.base);
    let span = start(base);
    let private = scope.runtime.private(span);
    let slot = call.map(|call| fit::slot(call, span));
    *awaited.base = Expr::Verbatim(match (slot, later) {
        (Some(slot), true) => quote_spanned!(span=> #private::gate_later(#slot, #base, 0)),
        (None, true) => quote_spanned!(span=> #private::gate_later(#private::nothing(), #base, 0)),
        (Some(slot), false) => quote_spanned!(span=> #private::At(#base).__deadline_gate(#slot)),
        (None, false) => quote_spanned!(span=> #private::At(#base).__deadline_gate_alone()),
    });
    Expr::Await(awaited)
}

// Input:   EXPR.await
// Output:  match At(guard(EXPR).await).deadline_settle() { Ok(value) => value, Err(stopped) => return STOP }
pub(super) fn guard(mut awaited: ExprAwait, call: Option<usize>, scope: &Scope) -> Expr {
    let attrs = attributes(&mut awaited);
    let span = Span::mixed_site().located_at(start(&awaited.base));
    let private = scope.runtime.private(span);
    let base = counted(argument(&awaited.base), call, scope);
    let future = quote_spanned!(span=> #private::guard(#base));
    let guarded = awaiting(awaited, future);
    let settle = Expr::Verbatim(quote_spanned!(span=> #private::At(#guarded).deadline_settle()));
    settled(attrs, settle, &stop::leave(scope, span), span)
}

// Input:   EXPR.await
// Output:  match limit.run(EXPR).await { Ok(value) => value, Err(stopped) => return STOP }
pub(super) fn limit(mut awaited: ExprAwait, scope: &Scope) -> Expr {
    let attrs = attributes(&mut awaited);
    let span = Span::mixed_site().located_at(start(&awaited.base));
    let base = argument(&awaited.base);
    let future = quote_spanned!(span=> limit.run(#base));
    settled(
        attrs,
        awaiting(awaited, future),
        &stop::leave(scope, span),
        span,
    )
}

// Input:   EXPR.await
// Output:  match limit.run_or_miss(EXPR).await.deadline_settle() { Ok(value) => value, Err(stopped) => break 'budget FALLBACK }
pub(super) fn limit_or(
    mut awaited: ExprAwait,
    fallback: &Expr,
    label: &Lifetime,
    scope: &Scope,
) -> Expr {
    let attrs = attributes(&mut awaited);
    let span = Span::mixed_site().located_at(start(&awaited.base));
    let base = argument(&awaited.base);
    let future = quote_spanned!(span=> limit.run_or_miss(#base));
    let settle = awaiting(awaited, future);
    let settle = Expr::Verbatim(quote_spanned!(span=> #settle.deadline_settle()));
    let value = stop::value(fallback, scope, span);
    let out = if stop::diverges(fallback) {
        value
    } else {
        quote_spanned!(span=> break #label #value)
    };
    settled(attrs, settle, &out, span)
}

// Input:   EXPR.await
// Output:  match (Shield::enter(SPEC), EXPR) {
//              (shield, future) => match shield.run(future).await {
//                  Ok(value) => value,
//                  Err(stopped) => return STOP,
//              },
//          }
//
// The shield is entered first, so that calls inside EXPR already see it.
pub(super) fn shield(
    mut awaited: ExprAwait,
    amount: &Given<Amount>,
    name: &str,
    scope: &Scope,
) -> Expr {
    let attrs = attributes(&mut awaited);
    let span = Span::mixed_site().located_at(start(&awaited.base));
    let private = scope.runtime.private(span);
    let spec = spec::statement(amount, name, &scope.runtime);
    let base = argument(&awaited.base);
    let entered = quote_spanned!(span=> (#private::Shield::enter(#spec), #base));
    let future = quote_spanned!(span=> shield.run(future));
    let run = settled(
        Vec::new(),
        awaiting(awaited, future),
        &stop::leave(scope, span),
        span,
    );
    let arm = arm(
        quote_spanned!(span=> (shield, future)),
        run.into_token_stream(),
        span,
    );
    matching(attrs, Expr::Verbatim(entered), vec![arm], span)
}

// Input:   EXPR.await
// Output:  counted(call_0, EXPR).await    where it counts
pub(super) fn plain(mut awaited: ExprAwait, call: Option<usize>, scope: &Scope) -> Expr {
    if call.is_some() {
        let base = counted(argument(&awaited.base), call, scope);
        *awaited.base = Expr::Verbatim(base);
    }
    Expr::Await(awaited)
}

// Input:   EXPR
// Output:  counted(call_0, EXPR)    where it counts
pub(super) fn counted(future: &Expr, call: Option<usize>, scope: &Scope) -> TokenStream {
    let Some(call) = call else {
        return future.to_token_stream();
    };
    let span = start(future);
    let private = scope.runtime.private(span);
    let slot = fit::slot(call, span);
    quote_spanned!(span=> #private::counted(#slot, #future))
}

/// Parentheses that the user needed in front of `.await` are too many in an argument.
fn argument(base: &Expr) -> &Expr {
    match base {
        Expr::Paren(paren) if paren.attrs.is_empty() => argument(&paren.expr),
        base => base,
    }
}

/// The attributes of the user's expression, which go to what takes its place: below that they would be on an expression
/// that can have none.
fn attributes(awaited: &mut ExprAwait) -> Vec<Attribute> {
    std::mem::take(&mut awaited.attrs)
}

fn awaiting(mut awaited: ExprAwait, future: TokenStream) -> Expr {
    *awaited.base = Expr::Verbatim(future);
    Expr::Await(awaited)
}

fn settled(attrs: Vec<Attribute>, scrutinee: Expr, out: &TokenStream, span: Span) -> Expr {
    let ok = arm(
        quote_spanned!(span=> ::core::result::Result::Ok(value)),
        quote_spanned!(span=> value),
        span,
    );
    let err = arm(
        quote_spanned!(span=> ::core::result::Result::Err(stopped)),
        out.clone(),
        span,
    );
    matching(attrs, scrutinee, vec![ok, err], span)
}

/// A proper `match` in the tree, so that the printer puts parentheses around it where its place demands them.
fn matching(attrs: Vec<Attribute>, scrutinee: Expr, arms: Vec<Arm>, span: Span) -> Expr {
    Expr::Match(ExprMatch {
        attrs,
        match_token: Token![match](span),
        expr: Box::new(scrutinee),
        brace_token: token::Brace(span),
        arms,
    })
}

fn arm(pat: TokenStream, body: TokenStream, span: Span) -> Arm {
    Arm {
        attrs: Vec::new(),
        pat: Pat::Verbatim(pat),
        fat_arrow_token: Token![=>](span),
        body: Box::new(Expr::Verbatim(body)),
        comma: Some(Token![,](span)),
    }
}
