//! Lints that would object to the form of the expansion and cannot be avoided otherwise.

use crate::syntax;
use quote::ToTokens as _;
use syn::{ItemFn, Type, Visibility, parse_quote};

/// A method may implement one that a trait declares as `async fn`. Ours says more about its future than the trait
/// asked for, which is the point; free functions and those with a visibility cannot be such methods.
pub(super) fn allow_refinement(item: &mut ItemFn) {
    if matches!(item.vis, Visibility::Inherited) {
        item.attrs.push(parse_quote!(#[allow(refining_impl_trait)]));
    }
}

/// `#[must_use]` on an `async fn` is about its output; clippy takes it to be about the future, which has one already.
pub(super) fn allow_must_use(item: &mut ItemFn) {
    if item
        .attrs
        .iter()
        .any(|attr| attr.path().is_ident("must_use"))
    {
        item.attrs
            .push(parse_quote!(#[allow(clippy::double_must_use)]));
    }
}

/// Clippy asks whether an async block that evaluates to a future was meant to await it, which it does not ask of an
/// `async fn`.
pub(super) fn allow_future_output(item: &mut ItemFn, output: &Type) {
    if matches!(output, Type::ImplTrait(_) | Type::Path(_))
        && syntax::mentions(output.to_token_stream(), &|word| {
            word.ends_with("Future") || matches!(word, "JoinHandle" | "Receiver")
        })
    {
        item.attrs
            .push(parse_quote!(#[allow(clippy::async_yields_async)]));
    }
}
