//! The signature: what an `async fn` becomes.

use super::spec;
use crate::model::Scope;
use proc_macro2::{Span, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, ItemFn, ReturnType, Signature, Token, Type, TypeImplTrait, TypeParamBound,
    parse_quote, parse2,
};

// Input:   async fn f() -> T
// Output:        fn f() -> impl Future<Output = T> + Budgeted<Budget = Millis<450>>
pub(super) fn return_the_future(sig: &mut Signature, scope: &Scope) {
    sig.asyncness = None;
    let (arrow, mut output): (Token![->], Type) = match &sig.output {
        ReturnType::Default => {
            let span = Span::mixed_site().located_at(sig.ident.span());
            (
                Token![->](span),
                parse2(quote_spanned!(span=> ())).unwrap_or_else(|_| parse_quote!(())),
            )
        }
        ReturnType::Type(arrow, ty) => (*arrow, (**ty).clone()),
    };
    CaptureEverything.visit_type_mut(&mut output);

    let span = Span::call_site().located_at(output.span());
    let root = scope.runtime.root(span);
    let budget = spec::budget(scope, span);
    // Messages about the whole signature reach from its first token to its last, so that one has to be the user's.
    let close = Token![>](last_token(sig));
    let returned = quote_spanned! {span=>
        impl ::core::future::Future<Output = #output> + #root::Budgeted<Budget = #budget #close
    };
    sig.output = ReturnType::Type(arrow, Box::new(Type::Verbatim(returned)));
}

/// Calling the function only makes its future. Unless that happens where the future is wanted it is made somewhere else and
/// copied, twice, with the room for everything that it will ever await. A build that is debugged does without, because
/// there it would only be compiled more often.
pub(super) fn make_in_place(item: &mut ItemFn) {
    let others = [
        "inline",
        "target_feature",
        "no_mangle",
        "export_name",
        "unsafe",
    ];
    let refuses = |attr: &Attribute| others.iter().any(|name| attr.path().is_ident(name));
    if !item.attrs.iter().any(refuses) {
        item.attrs
            .push(parse_quote!(#[cfg_attr(not(debug_assertions), inline(always))]));
    }
}

fn last_token(sig: &Signature) -> Span {
    match &sig.output {
        ReturnType::Default => sig.paren_token.span.close(),
        ReturnType::Type(_, ty) => match ty.to_token_stream().into_iter().last() {
            Some(TokenTree::Group(group)) => group.span_close(),
            Some(token) => token.span(),
            None => ty.span(),
        },
    }
}

/// An `impl Trait` inside the return type of an `async fn` captures every lifetime, in every edition. Behind a plain
/// `fn` only that of edition 2024 does, so these tokens get the edition of this crate.
struct CaptureEverything;

impl VisitMut for CaptureEverything {
    fn visit_type_impl_trait_mut(&mut self, ty: &mut TypeImplTrait) {
        ty.impl_token.span = Span::call_site().located_at(ty.impl_token.span);
        visit_mut::visit_type_impl_trait_mut(self, ty);
    }
}

// Input:   fn f() -> impl Future<Output = T>
// Output:  fn f() -> impl Future<Output = T> + Budgeted<Budget = Millis<450>>
//
// Says whether it did so; a boxed future stays as it is.
pub(super) fn add_the_budget(sig: &mut Signature, scope: &Scope) -> bool {
    let ReturnType::Type(_, ty) = &mut sig.output else {
        return false;
    };
    let Type::ImplTrait(returned) = &mut **ty else {
        return false;
    };
    let span = Span::call_site().located_at(returned.impl_token.span);
    let root = scope.runtime.root(span);
    let budget = spec::budget(scope, span);
    returned.bounds.push(TypeParamBound::Verbatim(
        quote_spanned!(span=> #root::Budgeted<Budget = #budget>),
    ));
    true
}
