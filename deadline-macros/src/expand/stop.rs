//! What a function does with a stop that it has been told of.

use crate::model::Scope;
use crate::parse::options::bare;
use crate::syntax::{self, Known};
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Expr, ExprClosure, Pat, PatType};

// Output:  return stop(stopped)
//          { let _ = missed(stopped); return FALLBACK }
//          return (CLOSURE)(missed(stopped))
pub(super) fn leave(scope: &Scope, span: Span) -> TokenStream {
    let private = scope.runtime.private(span);
    match scope.fallback.as_ref().map(bare) {
        None => quote_spanned!(span=> return #private::stop(stopped)),
        Some(Expr::Closure(closure)) => {
            let closure = typed(closure, scope, span);
            quote_spanned!(span=> return (#closure)(#private::missed(stopped)))
        }
        Some(value) => {
            let out = if diverges(value) { TokenStream::new() } else { quote_spanned!(span=> return) };
            quote_spanned!(span=> { let _ = #private::missed(stopped); #out #value })
        }
    }
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
    if let Some(pat) = closure.inputs.first_mut() {
        if !matches!(pat, Pat::Type(_)) {
            let root = scope.runtime.root(span);
            *pat = Pat::Type(PatType {
                attrs: Vec::new(),
                pat: Box::new(pat.clone()),
                colon_token: syn::Token![:](span),
                ty: Box::new(syn::Type::Verbatim(quote_spanned!(span=> #root::Stopped))),
            });
        }
    }
    closure
}

/// `panic!(…)`: a `return` in front of it would never be reached.
pub(super) fn diverges(value: &Expr) -> bool {
    matches!(value, Expr::Macro(mac) if syntax::known(&mac.mac) == Known::Diverges)
}
