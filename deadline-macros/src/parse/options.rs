//! The common form of all our attributes: `"250ms", name = value, flag`.

use crate::faults::Faults;
use crate::nearest::nearest;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Expr, Token};

/// One argument as written.
pub(crate) struct Argument {
    /// `None` for a bare value such as the `"250ms"` of `#[budget("250ms")]`.
    pub(crate) name: Option<Ident>,
    /// `None` for a flag such as `boxed`.
    pub(crate) value: Option<Expr>,
}

impl Argument {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|given| given == name)
    }

    /// Where to say that this argument should not be here.
    pub(crate) fn span(&self) -> Span {
        match (&self.name, &self.value) {
            (Some(name), _) => name.span(),
            (None, Some(value)) => start(value),
            (None, None) => Span::call_site(),
        }
    }
}

/// Splits the arguments; a faulty one is reported and does not hide the others.
pub(crate) fn split(arguments: TokenStream, faults: &mut Faults) -> Vec<Argument> {
    let mut split = Vec::new();
    let outcome = (|input: ParseStream| {
        while !input.is_empty() {
            if let Some(argument) = faults.value(argument(input)) {
                split.push(argument);
            }
            if !input.is_empty() && !input.peek(Token![,]) {
                if faults.none() {
                    faults.push(input.error("expected `,` between arguments"));
                }
                skip_to_comma(input)?;
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    })
    .parse2(arguments);
    faults.value(outcome);
    split
}

fn argument(input: ParseStream) -> syn::Result<Argument> {
    let ahead = input.fork();
    let named = ahead.call(Ident::parse_any).is_ok()
        && (ahead.is_empty()
            || ahead.peek(Token![,])
            || ahead.peek(Token![=]) && !ahead.peek(Token![==]));
    if !named {
        return Ok(Argument {
            name: None,
            value: Some(input.parse()?),
        });
    }
    let name = input.call(Ident::parse_any)?;
    let value = match input.parse::<Option<Token![=]>>()? {
        Some(equals) if input.is_empty() || input.peek(Token![,]) => {
            return Err(syn::Error::new(
                equals.span,
                format!("`{name} =` has no value yet"),
            ));
        }
        Some(_) => Some(input.parse()?),
        None => None,
    };
    Ok(Argument {
        name: Some(name),
        value,
    })
}

fn skip_to_comma(input: ParseStream) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

/// Reports an argument that is not in the list, with the nearest one that is.
pub(crate) fn unknown(name: &Ident, accepted: &[&str], faults: &mut Faults) {
    let typed = name.to_string();
    let hint = match typed.as_str() {
        "timeout" | "duration" | "deadline" | "limit" => Some("budget"),
        typed => nearest(typed, accepted.iter().copied()),
    };
    let hint = hint
        .filter(|hint| accepted.contains(hint))
        .map_or_else(String::new, |hint| format!(", did you mean `{hint}`?"));
    let accepted = accepted
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    faults.at(
        name.span(),
        format!("unknown argument `{typed}`{hint}\naccepted are {accepted}"),
    );
}

/// Puts a value into its place, unless the place is taken.
pub(crate) fn once<T>(place: &mut Option<T>, value: Option<T>, name: &Ident, faults: &mut Faults) {
    let Some(value) = value else { return };
    if place.is_some() {
        faults.at(name.span(), format!("`{name}` is given twice: remove one"));
    } else {
        *place = Some(value);
    }
}

/// The first token of an expression, which is where messages about it point.
///
/// `Spanned` finds it by printing the whole expression; the usual kinds are looked into instead.
pub(crate) fn start(expr: &Expr) -> Span {
    if !crate::syntax::attrs(expr).is_empty() {
        return syn::spanned::Spanned::span(expr);
    }
    match expr {
        Expr::Await(expr) => start(&expr.base),
        Expr::Call(expr) => start(&expr.func),
        Expr::Field(expr) => start(&expr.base),
        Expr::MethodCall(expr) => start(&expr.receiver),
        Expr::Try(expr) => start(&expr.expr),
        Expr::ForLoop(expr) if expr.label.is_none() => expr.for_token.span,
        Expr::While(expr) if expr.label.is_none() => expr.while_token.span,
        Expr::Loop(expr) if expr.label.is_none() => expr.loop_token.span,
        Expr::Path(path) if path.qself.is_none() && path.path.leading_colon.is_none() => {
            match path.path.segments.first() {
                Some(first) => first.ident.span(),
                None => syn::spanned::Spanned::span(expr),
            }
        }
        expr => syn::spanned::Spanned::span(expr),
    }
}

/// Looks through parentheses and the invisible groups that `macro_rules!` puts around its fragments.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        expr => expr,
    }
}
