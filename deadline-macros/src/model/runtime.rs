//! Where the runtime is, and the names of its private interface.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::Path;

pub(crate) struct Runtime(Option<Path>);

impl Runtime {
    pub(crate) fn new(given: Option<Path>) -> Self {
        Runtime(given)
    }

    /// `::deadline_runtime`, or what `crate = …` says.
    pub(crate) fn root(&self, span: Span) -> TokenStream {
        match &self.0 {
            None => quote_spanned!(span=> ::deadline_runtime),
            Some(path) => {
                let mut path = path.clone();
                // A path reaches from its first token to its last, which are at `span`. What is between keeps its place,
                // so that a name which is not there is reported at it, and all uses of it as one.
                match (&mut path.leading_colon, path.segments.first_mut()) {
                    (Some(colon), _) => colon.spans = colon.spans.map(|own| own.located_at(span)),
                    (None, Some(first)) => {
                        first.ident.set_span(first.ident.span().located_at(span));
                    }
                    (None, None) => {}
                }
                path.into_token_stream()
            }
        }
    }

    /// The private interface of the runtime.
    pub(crate) fn private(&self, span: Span) -> TokenStream {
        let root = self.root(span);
        quote_spanned!(span=> #root::__rt)
    }
}
