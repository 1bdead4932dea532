//! What a function does with a stop that it has been told of.

use crate::model::Scope;
use crate::parse::options::bare;
use crate::syntax::{self, Known};
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Expr, ExprClosure, Pat, PatType};

// Output:  return stop::<T>(stopped)
//          return instead(stopped, |_| FALLBACK)
//          return instead(stopped, CLOSURE)
//
// The closure keeps a fallback that diverges from making the `return` unreachable.
pub(super) fn leave(scope: &Scope, span: Span) -> TokenStream {
    let private = scope.runtime.private(span);
    match scope.fallback.as_ref().map(bare) {
        None => {
            let stop = carried(scope);
            quote_spanned!(span=> return #stop)
        }
        Some(closure @ Expr::Closure(_)) => {
            quote_spanned!(span=> return #private::instead(stopped, #closure))
        }
        Some(value) => quote_spanned!(span=> return #private::instead(stopped, |_| #value)),
    }
}

/// The stop as a value of the return type. Said of one type at one place, what is wrong with it is one error, however often
/// it stands in the expansion.
pub(super) fn carried(scope: &Scope) -> TokenStream {
    let private = scope.runtime.private(scope.place);
    let ty = &scope.output;
    quote_spanned!(scope.place=> #private::stop::<#ty>(stopped))
}

/// The value of a `fallback` where a variable `stopped` is at hand.
pub(super) fn value(fallback: &Expr, scope: &Scope, span: Span) -> TokenStream {
    match bare(fallback) {
        Expr::Closure(closure) => {
            let closure = typed(closure, scope, span);
            quote_spanned!(span=> (#closure)(stopped))
        }
        value => quote_spanned!(span=> #value),
    }
}

/// The last argument of `Scoped::with_fallback`.
pub(super) fn closure(fallback: &Expr, never: bool, scope: &Scope) -> TokenStream {
    let span = Span::mixed_site().located_at(crate::parse::options::start(fallback));
    let root = scope.runtime.root(span);
    let output = never.then(|| quote_spanned!(span=> -> !));
    match bare(fallback) {
        Expr::Closure(closure) => {
            let mut closure = closure.clone();
            closure.capture.get_or_insert(syn::Token![move](span));
            quote_spanned!(span=> #closure)
        }
        value if never => quote_spanned!(span=> move |_: #root::Stopped| #output { #value }),
        value => quote_spanned!(span=> move |_| #value),
    }
}

/// A closure that is called where it stands needs the type of its parameter spelled out.
fn typed(closure: &ExprClosure, scope: &Scope, span: Span) -> ExprClosure {
    let mut closure = closure.clone();
    if let Some(pat) = closure.inputs.first_mut()
        && !matches!(pat, Pat::Type(_))
    {
        let root = scope.runtime.root(span);
        *pat = Pat::Type(PatType {
            attrs: Vec::new(),
            pat: Box::new(pat.clone()),
            colon_token: syn::Token![:](span),
            ty: Box::new(syn::Type::Verbatim(quote_spanned!(span=> #root::Stopped))),
        });
    }
    closure
}

/// `panic!(…)`, `return Ok(partial)`, `continue`: a `break` in front of it would never be reached.
pub(super) fn diverges(value: &Expr) -> bool {
    match bare(value) {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Macro(mac) => syntax::known(&mac.mac) == Known::Diverges,
        _ => false,
    }
}
