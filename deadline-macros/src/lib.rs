//! The attribute macros of `deadline-runtime`. Depend on that crate, which re-exports them.
//!
//! An attribute goes through four stages, and data flows one way: `parse` reads tokens into options that keep their
//! spans, `model` says what is to be built, `check` collects everything that does not fit, `expand` writes the code.

mod check;
mod duration;
mod entry;
mod expand;
mod faults;
mod model;
mod nearest;
mod parse;
mod syntax;

use proc_macro::TokenStream;

/// Runs an `async fn` under a deadline.
#[proc_macro_attribute]
pub fn deadline(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::deadline(args.into(), item.into()).into()
}

/// Puts checkpoints into the loops of a synchronous function.
#[proc_macro_attribute]
pub fn checkpoint(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::checkpoint(args.into(), item.into()).into()
}

/// Caps a statement or an expression.
#[proc_macro_attribute]
pub fn budget(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::outside("budget", &args.into(), item.into()).into()
}

/// Shields a statement or an expression.
#[proc_macro_attribute]
pub fn shield(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::outside("shield", &args.into(), item.into()).into()
}
