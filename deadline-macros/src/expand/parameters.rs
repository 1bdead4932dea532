//! Parameters are bound once more inside the block, as rustc does it for an `async fn`: so every one of them, used or
//! not, moves into the future and is dropped where and when it would have been.

use crate::model::Scope;
use crate::parse::deadline::Parent;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, Pat, PatIdent, PatType, ReceiverKind, Signature, Type};

// Input:   fn f(mut self, a: A, mut b: B, (c, d): (C, D), _: E)
// Output:  fn f(mut self, a: A, b: B, arg2: (C, D), _arg3: E)
//          let _ = &self;
//          let a = a;
//          let mut b = b;
//          let arg2 = arg2;
//          let (c, d) = arg2;
//          let _arg3 = _arg3;
//
// Other attribute macros may read the parameters: then patterns stay where they are, and the `async fn` around the block
// drops what they do not bind.
pub(super) fn rebind(sig: &mut Signature, keep_patterns: bool, scope: &Scope) -> TokenStream {
    let mut bound = TokenStream::new();
    for (position, input) in sig.inputs.iter_mut().enumerate() {
        match input {
            // `self` cannot be bound again, but a mention of it as a whole makes the block take all of it. Behind a
            // reference nothing could be left behind.
            FnArg::Receiver(receiver) => {
                if !matches!(receiver.kind, ReceiverKind::Reference(..)) {
                    let this = &receiver.self_token;
                    let span = Span::mixed_site().located_at(this.span);
                    bound.extend(quote_spanned!(span=> let _ = &#this;));
                }
            }
            FnArg::Typed(typed) => {
                let is_context = is_the_context(typed, scope);
                bound.extend(parameter(typed, position, keep_patterns, is_context, scope));
            }
        }
    }
    bound.extend(bind(scope));
    bound
}

/// The bindings of `parent = cx` and `bind = cx` alone, for a block that has bound its parameters already.
pub(super) fn context(sig: &Signature, scope: &Scope) -> TokenStream {
    let mut bound = TokenStream::new();
    for input in &sig.inputs {
        if let FnArg::Typed(typed) = input
            && is_the_context(typed, scope)
        {
            bound.extend(narrowed(&typed.pat, &typed.ty, scope));
        }
    }
    bound.extend(bind(scope));
    bound
}

fn parameter(
    typed: &mut PatType,
    position: usize,
    keep_patterns: bool,
    is_context: bool,
    scope: &Scope,
) -> TokenStream {
    let on_the_binding = attributes(&mut typed.attrs);
    let cfg: Vec<Attribute> = on_the_binding
        .iter()
        .filter(|attr| is_cfg(attr))
        .cloned()
        .collect();
    if is_context {
        let narrowed = narrowed(&typed.pat, &typed.ty, scope);
        return quote!(#(#on_the_binding)* #narrowed);
    }
    let pat = (*typed.pat).clone();
    let place = Span::mixed_site().located_at(pat.span());
    match &pat {
        Pat::Ident(PatIdent {
            by_ref: None,
            subpat: None,
            ident,
            ..
        }) => {
            // Another variable for the compiler, and the same name for a reader, so that nothing the
            // user wrote is bound twice. Other attribute macros and a fallback need the user's own.
            let mut outside = ident.clone();
            let needed = keep_patterns || scope.fallback_mentions(ident);
            // A keyword in the edition of this crate, and thus of `place`; a name in older ones.
            if !needed && ident != "gen" {
                outside.set_span(place);
            }
            *typed.pat = plain(&outside);
            let allow = ident
                .to_string()
                .starts_with('_')
                .then(|| allow_underscore(place));
            quote_spanned!(place=> #(#on_the_binding)* #allow let #pat = #outside;)
        }
        Pat::Wild(_) if !keep_patterns => {
            let outside = format_ident!("_arg{position}", span = place);
            *typed.pat = plain(&outside);
            quote_spanned!(place=> #(#on_the_binding)* let #outside = #outside;)
        }
        _ if keep_patterns => {
            typed.attrs.extend(on_the_binding);
            TokenStream::new()
        }
        _ => {
            let outside = format_ident!("arg{position}", span = place);
            *typed.pat = plain(&outside);
            let mutable = borrows_mutably(&pat).then(|| quote_spanned!(place=> mut));
            quote_spanned! {place=>
                #(#cfg)* let #mutable #outside = #outside;
                #(#on_the_binding)* let #pat = #outside;
            }
        }
    }
}

/// Clippy finds that `let _x = _x;` uses what should not be used, and does nothing with it.
fn allow_underscore(place: Span) -> TokenStream {
    quote_spanned!(place=> #[allow(clippy::no_effect_underscore_binding, clippy::used_underscore_binding)])
}

/// `ref mut` borrows from the parameter itself.
fn borrows_mutably(pat: &Pat) -> bool {
    struct RefMut(bool);

    impl Visit<'_> for RefMut {
        fn visit_pat_ident(&mut self, pat: &PatIdent) {
            self.0 |= pat.by_ref.is_some() && pat.mutability.is_some();
            visit::visit_pat_ident(self, pat);
        }
    }

    let mut search = RefMut(false);
    search.visit_pat(pat);
    search.0
}

fn plain(ident: &Ident) -> Pat {
    Pat::Ident(PatIdent {
        attrs: Vec::new(),
        by_ref: None,
        mutability: None,
        ident: ident.clone(),
        subpat: None,
    })
}

/// Lint attributes belong to the inner binding, which is the one that can be unused; a `cfg` belongs to both.
fn attributes(attrs: &mut Vec<Attribute>) -> Vec<Attribute> {
    const LINTS: [&str; 5] = ["allow", "deny", "expect", "forbid", "warn"];
    let is_lint = |attr: &Attribute| LINTS.iter().any(|name| attr.path().is_ident(name));
    let moved = attrs
        .iter()
        .filter(|attr| is_lint(attr) || is_cfg(attr))
        .cloned()
        .collect();
    attrs.retain(|attr| !is_lint(attr));
    moved
}

fn is_cfg(attr: &Attribute) -> bool {
    attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr")
}

fn is_the_context(typed: &PatType, scope: &Scope) -> bool {
    match (&scope.parent, &*typed.pat) {
        (Some(Parent::Parameter(name)), Pat::Ident(pat)) => pat.ident == *name,
        _ => false,
    }
}

// Input:   cx: Context           cx: &Context
// Output:  let cx = current();   let cx = &current();
fn narrowed(pat: &Pat, ty: &Type, scope: &Scope) -> TokenStream {
    let span = Span::mixed_site().located_at(pat.span());
    let root = scope.runtime.root(span);
    let reference = matches!(ty, Type::Reference(_)).then(|| quote_spanned!(span=> &));
    // The attribute has used it.
    quote_spanned!(span=> #[allow(unused_variables)] let #pat = #reference #root::Context::current();)
}

fn bind(scope: &Scope) -> TokenStream {
    let Some(name) = &scope.bind else {
        return TokenStream::new();
    };
    let span = Span::mixed_site().located_at(name.span());
    let root = scope.runtime.root(span);
    quote_spanned!(span=> let #name = #root::Context::current();)
}
