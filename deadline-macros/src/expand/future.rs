//! The future that a function returns: its body in an async block, in a scope.

use super::body::Rewritten;
use super::fit::Fit;
use super::{spec, stop};
use crate::model::shape::returns_never;
use crate::model::{Scope, output};
use crate::parse::deadline::{Boxed, Parent};
use crate::syntax;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Block, Expr, ExprAsync, ItemFn, Stmt};

/// What is needed besides the block.
pub(super) struct Parts<'a> {
    pub(super) scope: &'a Scope,
    pub(super) rewritten: Rewritten,
    pub(super) fit: Option<Fit>,
    /// Whether the signature says the budget.
    pub(super) in_signature: bool,
}

/// `Scoped::ending(SPEC.here(), async move { … }, STOP)` in one of its forms.
pub(super) struct Future {
    /// What is in front of it: the traits that it, and the body in it, call methods of, all in one place because each place
    /// has its price for the compiler, and the slots of its calls.
    pub(super) begin: TokenStream,
    pub(super) expr: TokenStream,
}

impl Future {
    // Input:   BODY, let user = user;
    // Output:  use {Gates as _, HandsOut as _};
    //          Scoped::ending(SPEC.here(), async move {
    //              let user = user;
    //              if false { return returns::<T>(); }
    //              { BODY }
    //          }, Holds::<T>::new().deadline_carry(|stopped| stop::<T>(stopped)))
    pub(super) fn around(item: &ItemFn, rebound: &TokenStream, parts: &Parts) -> Self {
        let span = parts.scope.place;
        let typed = if returns_never(item) {
            TokenStream::new()
        } else {
            typed_return(parts)
        };
        let body = body(&item.block);
        let block = quote_spanned! {span=>
            async move {
                #rebound
                #typed
                #body
            }
        };
        scoped(&block, returns_never(item), parts)
    }

    /// The same for a block that is there already, such as the one that `#[async_trait]` makes.
    pub(super) fn of(block: &mut ExprAsync, context: &TokenStream, parts: &Parts) -> Self {
        let typed = if is_typed(block) {
            TokenStream::new()
        } else {
            typed_return(parts)
        };
        let place = Span::mixed_site().located_at(block.async_token.span);
        let begin = quote_spanned!(place=> #context #typed);
        block
            .block
            .stmts
            .insert(0, Stmt::Expr(Expr::Verbatim(begin), None));
        scoped(&block.to_token_stream(), false, parts)
    }
}

/// The user's statements stay in a block of their own, because the items among them may shadow names. One expression
/// alone needs none, and rustc would call its braces unnecessary.
fn body(block: &Block) -> TokenStream {
    match &*block.stmts {
        // Not read, and the braces are among its tokens.
        [Stmt::Expr(Expr::Verbatim(tokens), _)] => tokens.clone(),
        [Stmt::Expr(expr, None)] if syntax::attrs(expr).is_empty() => {
            block.stmts[0].to_token_stream()
        }
        _ => block.to_token_stream(),
    }
}

fn scoped(block: &TokenStream, never: bool, parts: &Parts) -> Future {
    let scope = parts.scope;
    let span = scope.place;
    let private = scope.runtime.private(span);
    let spec = spec::scope(scope, parts.in_signature);
    let block = boxed(block, parts, span);
    let here = if let Some(Parent::Parameter(name)) = &scope.parent {
        let at = Span::mixed_site().located_at(name.span());
        quote_spanned!(at=> #spec.under(&#name))
    } else {
        quote_spanned!(span=> #spec.here())
    };
    let holds = holds(scope, never);
    let (method, plain, end) = match &scope.fallback {
        None => {
            // Not the function itself: its type would demand once more what its name demands, and rustc say it again.
            let stop = stop::carried(scope);
            let closure = quote_spanned!(span=> |stopped| #stop);
            ("deadline_carry", "carrying", closure)
        }
        Some(fallback) => {
            let closure = stop::closure(fallback, never, scope);
            ("deadline_fall_back", "with_fallback", closure)
        }
    };
    let uses = parts.rewritten.uses(holds.is_some(), scope);
    let (form, end) = match holds {
        Some(holds) => {
            let method = Ident::new(method, span);
            ("ending", quote_spanned!(span=> #holds.#method(#end)))
        }
        None => (plain, end),
    };
    let (slots, end) = match &parts.fit {
        Some(fit) => (fit.slots(scope), fit.before(&end, scope)),
        None => (TokenStream::new(), end),
    };
    let form = Ident::new(form, span);
    Future {
        begin: quote!(#uses #slots),
        expr: quote_spanned!(span=> #private::Scoped::#form(#here, #block, #end)),
    }
}

// Output:  Holds::<T>::new()
//
// Whether a value can be held back until the tasks of the function are joined is found out by the compiler: it must be
// allowed to be sent to another thread. `None` where the type cannot be written down.
fn holds(scope: &Scope, never: bool) -> Option<TokenStream> {
    let ty = &scope.output;
    if never || output::is_inferred(ty) {
        return None;
    }
    let span = scope.place;
    let private = scope.runtime.private(span);
    Some(quote_spanned!(span=> #private::Holds::<#ty>::new()))
}

// Output:  Box::pin(async move { … })
//          Box::pin(async move { … }) as Pin<Box<dyn Future<Output = T> + Send + '_>>
//
// The second form ends the nesting of types, but it has room for one lifetime only, and a function that calls itself
// cannot have it at all: so it is the user who asks for it.
fn boxed(block: &TokenStream, parts: &Parts, span: Span) -> TokenStream {
    match parts.scope.boxed {
        None => block.clone(),
        Some(Boxed::Plain) => quote_spanned!(span=> ::std::boxed::Box::pin(#block)),
        Some(Boxed::Send) => {
            let ty = &parts.scope.output;
            quote_spanned! {span=>
                ::std::boxed::Box::pin(#block) as ::core::pin::Pin<
                    ::std::boxed::Box<dyn ::core::future::Future<Output = #ty> + ::core::marker::Send + '_>
                >
            }
        }
    }
}

// Output:  if false { return returns::<T>(); }
//
// An async block learns its type from its first `return`. Without this one `?`, coercions and the place of type errors
// would differ from those in an `async fn`.
fn typed_return(parts: &Parts) -> TokenStream {
    let ty = &parts.scope.output;
    let span = Span::mixed_site().located_at(ty.span());
    let private = parts.scope.runtime.private(span);
    quote_spanned!(span=> if false { return #private::returns::<#ty>(); })
}

/// `#[async_trait]` begins its block by a typed `return` of its own.
fn is_typed(block: &ExprAsync) -> bool {
    match block.block.stmts.first() {
        Some(Stmt::Expr(Expr::If(first), _)) => match &*first.cond {
            Expr::Let(_) => syntax_mentions_return(&first.then_branch),
            _ => false,
        },
        _ => false,
    }
}

fn syntax_mentions_return(block: &Block) -> bool {
    matches!(block.stmts.last(), Some(Stmt::Expr(Expr::Return(_), _)))
}
