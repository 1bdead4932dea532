//! The annotated function.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Block, Expr, FnModifiers, ItemFn, Signature, Stmt, Token, Visibility, token};

/// What the attribute was put on.
pub(crate) enum Item {
    Function(ItemFn),
    /// A trait's `fn f();`, with the span of its name.
    WithoutBody(Span),
    /// Not a function, or one that rustc has complained about already.
    Other(Span),
}

/// Reads a function. A body that cannot be read is carried along as it is: rustc says what is wrong with it, at its
/// place and better than we could, and the function keeps its deadline.
pub(crate) fn parse(item: TokenStream) -> Item {
    let first = item.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
    function.parse2(item).unwrap_or(Item::Other(first))
}

fn function(input: ParseStream) -> syn::Result<Item> {
    let mut attrs = input.call(Attribute::parse_outer)?;
    let vis: Visibility = input.parse()?;
    let sig: Signature = input.parse()?;
    if input.peek(Token![;]) {
        input.parse::<Token![;]>()?;
        return Ok(Item::WithoutBody(sig.ident.span()));
    }
    let (brace_token, body) = braces(input)?;
    let read = |input: ParseStream| Ok((input.call(Attribute::parse_inner)?, input.call(Block::parse_within)?));
    let stmts = match read.parse2(body.clone()) {
        Ok((inner, stmts)) => {
            attrs.extend(inner);
            stmts
        }
        Err(_) => vec![Stmt::Expr(Expr::Verbatim(body), None)],
    };
    let block = Box::new(Block { brace_token, stmts });
    Ok(Item::Function(ItemFn { attrs, vis, modifiers: FnModifiers::default(), sig, block }))
}

/// The tokens between the braces, also of a `$body:block` that `macro_rules!` hands on.
fn braces(input: ParseStream) -> syn::Result<(token::Brace, TokenStream)> {
    let content;
    let brace_token = syn::braced!(content in input);
    let mut tokens = TokenStream::new();
    while !content.is_empty() {
        tokens.extend([content.parse::<TokenTree>()?]);
    }
    Ok((brace_token, tokens))
}
