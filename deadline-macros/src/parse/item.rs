//! The annotated function.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Block, Expr, FnModifiers, ItemFn, Signature, Stmt, Token, Visibility};

/// What the attribute was put on.
pub(crate) enum Item {
    Function(Box<ItemFn>),
    /// A trait's `fn f();`, with the span of its name.
    WithoutBody(Span),
    /// Not a function, or one that rustc has complained about already.
    Other(Span),
}

/// Reads a function. A body that cannot be read is carried along as it is: rustc says what is wrong with it, at its
/// place and better than we could, and the function keeps its deadline.
pub(crate) fn parse(item: TokenStream) -> Item {
    let mut first = Span::call_site();
    let read = |input: ParseStream| {
        first = input.span();
        function(input)
    };
    read.parse2(item).unwrap_or(Item::Other(first))
}

fn function(input: ParseStream) -> syn::Result<Item> {
    let mut attrs = input.call(Attribute::parse_outer)?;
    let vis: Visibility = input.parse()?;
    let sig: Signature = input.parse()?;
    if input.peek(Token![;]) {
        input.parse::<Token![;]>()?;
        return Ok(Item::WithoutBody(sig.ident.span()));
    }
    let whole = input.fork();
    let inside;
    let brace_token = syn::braced!(inside in input);
    let ahead = inside.fork();
    let stmts = if let Ok((inner, stmts)) = body(&ahead) {
        inside.advance_to(&ahead);
        attrs.extend(inner);
        stmts
    } else {
        inside.parse::<TokenStream>()?;
        vec![Stmt::Expr(Expr::Verbatim(braces(&whole)?), None)]
    };
    let block = Box::new(Block { brace_token, stmts });
    Ok(Item::Function(Box::new(ItemFn {
        attrs,
        vis,
        modifiers: FnModifiers::default(),
        sig,
        block,
    })))
}

fn body(input: ParseStream) -> syn::Result<(Vec<Attribute>, Vec<Stmt>)> {
    Ok((
        input.call(Attribute::parse_inner)?,
        input.call(Block::parse_within)?,
    ))
}

/// The body as one token, also of a `$body:block` that `macro_rules!` hands on.
///
/// The token matters: made anew it would lose the places of its braces, and rustc would show a syntax error in it a
/// second time, at another place.
fn braces(input: ParseStream) -> syn::Result<TokenStream> {
    Ok(input.parse::<TokenTree>()?.into())
}
