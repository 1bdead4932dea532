//! The attribute macros of `deadline-runtime`.
use proc_macro::TokenStream;

/// Placeholder.
#[proc_macro_attribute]
pub fn deadline(_args: TokenStream, item: TokenStream) -> TokenStream {
    item
}
