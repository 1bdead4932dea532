//! Small questions about the user's syntax tree.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Macro, Pat, Token};

/// The attributes of an expression, if its kind can have any.
pub(crate) fn attrs_mut(expr: &mut Expr) -> Option<&mut Vec<Attribute>> {
    macro_rules! kinds {
        ($($kind:ident)*) => {
            match expr {
                $(Expr::$kind(expr) => Some(&mut expr.attrs),)*
                _ => None,
            }
        };
    }
    kinds! {
        Array Assign Async Await Binary Block Break Call Cast Closure Const Continue Field ForLoop Group If Index Infer
        Let Lit Loop Macro Match MethodCall Paren Path Range RawAddr Reference Repeat Return Struct Try TryBlock Tuple
        Unary Unsafe While Yield
    }
}

/// The same without the right to change them.
pub(crate) fn attrs(expr: &Expr) -> &[Attribute] {
    macro_rules! kinds {
        ($($kind:ident)*) => {
            match expr {
                $(Expr::$kind(expr) => &expr.attrs,)*
                _ => &[],
            }
        };
    }
    kinds! {
        Array Assign Async Await Binary Block Break Call Cast Closure Const Continue Field ForLoop Group If Index Infer
        Let Lit Loop Macro Match MethodCall Paren Path Range RawAddr Reference Repeat Return Struct Try TryBlock Tuple
        Unary Unsafe While Yield
    }
}

/// The guard of an arm: of all that is in a pattern the only part that runs.
pub(crate) fn guard_mut(pat: &mut Pat) -> Option<&mut Expr> {
    match pat {
        Pat::Guard(pat) => Some(&mut pat.guard),
        _ => None,
    }
}

/// What is known about a macro from its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// `join!`, `try_join!`: awaits its arguments itself, all at once.
    Joins,
    /// Its arguments are expressions, evaluated one after the other.
    Expressions,
    /// The same, and it never comes back: `panic!`.
    Diverges,
    /// Not looked into.
    Unknown,
}

pub(crate) fn known(mac: &Macro) -> Known {
    let Some(last) = mac.path.segments.last() else {
        return Known::Unknown;
    };
    match last.ident.to_string().as_str() {
        "join" | "try_join" => Known::Joins,
        "panic" | "unreachable" | "todo" | "unimplemented" | "bail" => Known::Diverges,
        "format" | "format_args" | "vec" | "assert" | "assert_eq" | "assert_ne"
        | "debug_assert" | "debug_assert_eq" | "debug_assert_ne" | "print" | "println"
        | "eprint" | "eprintln" | "write" | "writeln" | "matches" | "ensure" => Known::Expressions,
        _ => Known::Unknown,
    }
}

/// The arguments of a known macro, as far as they read as expressions: `a, b; n` and what follows untouched.
pub(crate) struct Arguments {
    expressions: Punctuated<Expr, Token![,]>,
    rest: TokenStream,
}

impl Arguments {
    pub(crate) fn read(mac: &Macro) -> Option<Self> {
        if known(mac) == Known::Unknown {
            return None;
        }
        let read = |input: ParseStream| {
            let mut expressions = Punctuated::new();
            while !input.is_empty() {
                let ahead = input.fork();
                if ahead.parse::<Expr>().is_err() {
                    break;
                }
                expressions.push_value(input.parse()?);
                match input.parse()? {
                    Some(comma) => expressions.push_punct(comma),
                    None => break,
                }
            }
            Ok(Arguments {
                expressions,
                rest: input.parse()?,
            })
        };
        read.parse2(mac.tokens.clone()).ok()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Expr> {
        self.expressions.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.expressions.iter_mut()
    }

    /// Whether nothing was left that does not read as one: the `biased;` of tokio's `join!`.
    pub(crate) fn are_all(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn into_tokens(self) -> TokenStream {
        let Arguments { expressions, rest } = self;
        quote::quote!(#expressions #rest)
    }
}

/// Whether any identifier or literal, at any depth, is one of these words.
pub(crate) fn mentions(tokens: TokenStream, word: &impl Fn(&str) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), word),
        TokenTree::Ident(ident) => word(&ident.to_string()),
        TokenTree::Literal(literal) => word(&literal.to_string()),
        TokenTree::Punct(_) => false,
    })
}

/// Removes our attributes from tokens that are given back to the compiler unexpanded, so that they do not cause
/// an error of their own.
pub(crate) fn without_our_attributes(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter().peekable();
    let mut kept = TokenStream::new();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(hash)
                if hash.as_char() == '#' && tokens.next_if(is_ours).is_some() => {}
            // Made anew, a group loses the places of its braces: only where it has to be.
            TokenTree::Group(group) if has_statement_attributes(group.stream()) => {
                let mut inner = proc_macro2::Group::new(
                    group.delimiter(),
                    without_our_attributes(group.stream()),
                );
                inner.set_span(group.span());
                kept.extend([TokenTree::Group(inner)]);
            }
            other => kept.extend([other]),
        }
    }
    kept
}

/// `[budget("250ms")]`, the part behind the `#`.
fn is_ours(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    if group.delimiter() != Delimiter::Bracket {
        return false;
    }
    let mut last = None;
    for token in group.stream() {
        match token {
            TokenTree::Ident(ident) => last = Some(ident),
            TokenTree::Punct(colon) if colon.as_char() == ':' => {}
            _ => break,
        }
    }
    last.is_some_and(|ident| {
        ident == "deadline" || crate::parse::statement::Kind::named(&ident).is_some()
    })
}

/// Whether there is one of our inner attributes among these tokens.
pub(crate) fn has_statement_attributes(tokens: TokenStream) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(hash)
                if hash.as_char() == '#' && tokens.next_if(is_ours).is_some() =>
            {
                return true;
            }
            TokenTree::Group(group) if has_statement_attributes(group.stream()) => return true,
            _ => {}
        }
    }
    false
}
