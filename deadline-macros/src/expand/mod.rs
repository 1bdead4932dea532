//! From the checked model to tokens.

mod audit;
mod awaits;
mod body;
mod docs;
mod fit;
mod future;
mod labels;
mod lints;
mod parameters;
mod signature;
mod spec;
mod statements;
mod stop;
pub(crate) mod synchronous;

use crate::model::runtime::Place;
use crate::model::shape::{self, Shape};
use crate::model::{Function, output};
use fit::Fit;
use future::Future;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Expr, Stmt};

// Input:
//     #[deadline(budget = "450ms")]
//     async fn load(user: UserId) -> Result<Profile, Error> {
//         BODY
//     }
//
// Output:
//     fn load(user: UserId) -> impl Future<Output = Result<Profile, Error>> + Budgeted<Budget = Millis<450>> {
//         __same_version!("0.1.0");
//         use HandsOut as _;
//         Scoped::ending(const { &Spec::<Millis<450>>::new("load") }.here(), async move {
//             let user = user;
//             if false { return returns::<Result<Profile, Error>>(); }
//             { BODY }
//         }, Holds::<Result<Profile, Error>>::new().deadline_carry(|stopped| stop::<Result<Profile, Error>>(stopped)))
//     }
pub(crate) fn function(function: Function) -> TokenStream {
    let Function {
        mut item,
        shape,
        scope,
        statements,
    } = function;
    docs::append(&mut item.attrs, &scope);

    let version = version(scope.runtime.root(Span::mixed_site()));
    let returned = output::of(&item.sig);
    let mut rewritten = body::Rewritten::default();
    let mut fit = None;
    let mut audit = TokenStream::new();
    let can_fit = fit::can_serve(shape, &mut item);
    shape::with_own_body(shape, &mut item.block, |own| {
        audit = audit::of(own, &item.sig.ident, &scope);
        if can_fit {
            fit = Fit::of(own, &item.sig, &scope, &statements);
        }
        rewritten = body::rewrite(own, &scope, &statements, fit.as_ref());
    });
    let parts = future::Parts {
        scope: &scope,
        rewritten,
        fit,
        in_signature: shape == Shape::Returned,
    };

    match shape {
        Shape::Returned | Shape::Kept => {
            let read_by_others = shape::keeps_its_form(&item);
            let rebound = parameters::rebind(&mut item.sig, read_by_others, &scope);
            let Future { begin, expr } = Future::around(&item, &rebound, &parts);
            lints::allow_future_output(&mut item, &returned);
            let tail = if shape == Shape::Returned {
                signature::return_the_future(&mut item.sig, &scope);
                lints::allow_refinement(&mut item);
                lints::allow_must_use(&mut item);
                signature::make_in_place(&mut item);
                quote!(#begin #expr)
            } else {
                let span = Span::mixed_site().located_at(item.sig.ident.span());
                quote_spanned!(span=> #begin #expr.await)
            };
            item.block.stmts = vec![Stmt::Expr(
                Expr::Verbatim(quote!(#version #audit #tail)),
                None,
            )];
        }
        Shape::Block => {
            if signature::add_the_budget(&mut item.sig, &scope) {
                lints::allow_refinement(&mut item);
            }
            let context = parameters::context(&item.sig, &scope);
            shape::with_future(&mut item.block, |future| {
                if let Expr::Async(block) = future {
                    let Future { begin, expr } = Future::of(block, &context, &parts);
                    *future = Expr::Verbatim(if begin.is_empty() {
                        expr
                    } else {
                        quote!({ #begin #expr })
                    });
                }
            });
            item.block
                .stmts
                .insert(0, Stmt::Expr(Expr::Verbatim(quote!(#version #audit)), None));
        }
    }
    item.into_token_stream()
}

/// Expands to nothing, or to an error when the runtime is not the one that this macro was made for.
fn version(root: Place<'_>) -> TokenStream {
    let version = env!("CARGO_PKG_VERSION");
    quote!(#root::__same_version! { #version })
}
