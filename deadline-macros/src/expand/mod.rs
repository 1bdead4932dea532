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

use crate::model::shape::{self, Shape};
use crate::model::runtime::Place;
use crate::model::{Function, Scope, output};
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
//         Scoped::ending(const { &Spec::<Millis<450>>::new("load") }.here(), async move {
//             let user = user;
//             if false { return returns::<Result<Profile, Error>>(); }
//             { BODY }
//         }, {
//             use HandsOut as _;
//             Holds::<Result<Profile, Error>>::new().deadline_carry(|stopped| stop::<Result<Profile, Error>>(stopped))
//         })
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
        in_signature: shape == Shape::Returned,
    };

    match shape {
        Shape::Returned | Shape::Kept => {
            let read_by_others = shape::keeps_its_form(&item);
            let rebound = parameters::rebind(&mut item.sig, read_by_others, &scope);
            let future = Future::around(&item, &rebound, &parts);
            lints::allow_future_output(&mut item, &returned);
            let tail = if shape == Shape::Returned {
                signature::return_the_future(&mut item.sig, &scope);
                lints::allow_refinement(&mut item);
                lints::allow_must_use(&mut item);
                signature::make_in_place(&mut item);
                checked(fit.as_ref(), future, &scope)
            } else {
                let future = future.into_tokens();
                let span = Span::mixed_site().located_at(item.sig.ident.span());
                quote_spanned!(span=> #future.await)
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
                    let wrapped = Future::of(block, &context, &parts);
                    let wrapped = checked(fit.as_ref(), wrapped, &scope);
                    *future = Expr::Verbatim(if fit.is_some() {
                        quote!({ #wrapped })
                    } else {
                        wrapped
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

fn checked(fit: Option<&Fit>, future: Future, scope: &Scope) -> TokenStream {
    let future = future.into_tokens();
    match fit {
        Some(fit) => fit.around(&future, scope),
        None => future,
    }
}

/// Expands to nothing, or to an error when the runtime is not the one that this macro was made for.
fn version(root: Place<'_>) -> TokenStream {
    let version = env!("CARGO_PKG_VERSION");
    quote!(#root::__same_version! { #version })
}
