//! Where the runtime is, and the names of its private interface.

use proc_macro2::{Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Path;

/// The tokens of its path, made once: an expansion names it in every line.
pub(crate) struct Runtime {
    root: Vec<TokenTree>,
    /// From `crate = …`.
    is_given: bool,
    private: Ident,
}

impl Runtime {
    pub(crate) fn new(given: Option<Path>) -> Self {
        let is_given = given.is_some();
        let root = given.map_or_else(|| quote!(::deadline_runtime), Path::into_token_stream);
        Runtime {
            root: root.into_iter().collect(),
            is_given,
            private: Ident::new("__rt", Span::mixed_site()),
        }
    }

    /// `::deadline_runtime`, or what `crate = …` says.
    pub(crate) fn root(&self, span: Span) -> Place<'_> {
        Place {
            runtime: self,
            is_private: false,
            span,
        }
    }

    /// The private interface of the runtime.
    pub(crate) fn private(&self, span: Span) -> Place<'_> {
        Place {
            runtime: self,
            is_private: true,
            span,
        }
    }
}

/// A path to the runtime, to be written at some place.
///
/// Not a `TokenStream`: to put one of those into another takes two calls of the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    runtime: &'a Runtime,
    is_private: bool,
    span: Span,
}

impl ToTokens for Place<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Place { runtime, span, .. } = *self;
        // A path reaches from its first token to its last, which are at `span`. What is between keeps its place, so that a
        // name which is not there is reported at it, and all uses of it as one.
        let first = match runtime.root.first() {
            Some(TokenTree::Punct(_)) => 2,
            _ => 1,
        };
        let root = runtime.root.iter().cloned().enumerate();
        let root = root.map(|(position, mut token)| {
            if !runtime.is_given {
                token.set_span(span);
            } else if position < first {
                token.set_span(token.span().located_at(span));
            }
            token
        });
        let private = self.is_private.then(|| {
            let mut name = runtime.private.clone();
            name.set_span(span);
            let [mut first, mut second] = [Spacing::Joint, Spacing::Alone].map(colon);
            first.set_span(span);
            second.set_span(span);
            [first.into(), second.into(), name.into()]
        });
        tokens.extend(root.chain(private.into_iter().flatten()));
    }
}

fn colon(spacing: Spacing) -> Punct {
    Punct::new(':', spacing)
}
