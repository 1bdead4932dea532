//! How much: a duration, a percentage, or the path of a `const` that holds a `Duration`.

use super::Given;
use super::options::{bare, start};
use crate::duration;
use syn::{Expr, ExprLit, Lit, Path};

#[derive(Clone)]
pub(crate) enum Amount {
    Millis(u64),
    Percent(u64),
    Path(Path),
}

/// Reads the value of the argument `name`.
///
/// The unit is never guessed: `450` could be seconds as well as milliseconds.
pub(crate) fn read(
    name: &str,
    value: Option<&Expr>,
    span: proc_macro2::Span,
) -> syn::Result<Given<Amount>> {
    let Some(value) = value else {
        return Err(syn::Error::new(
            span,
            format!("`{name}` needs a value, such as `{name} = \"450ms\"`"),
        ));
    };
    let amount = match bare(value) {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => {
            let span = text.span();
            let text = text.value();
            return match text.trim().strip_suffix('%') {
                Some(number) => percent(&text, number),
                None => duration::parse(&text).map(Amount::Millis),
            }
            .map(|value| Given { value, span })
            .map_err(|message| syn::Error::new(span, message));
        }
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => {
            let digits = number.base10_digits();
            let message = match number.suffix() {
                "" => format!("`{digits}` has no unit: write \"{digits}ms\" or \"{digits}s\""),
                suffix => format!("a duration is written in quotes: \"{digits}{suffix}\""),
            };
            return Err(syn::Error::new(number.span(), message));
        }
        Expr::Path(path) if path.qself.is_none() => Amount::Path(path.path.clone()),
        other => {
            return Err(syn::Error::new(
                start(other),
                format!(
                    "`{name}` accepts a literal such as \"450ms\", or the path of a `const` of type `Duration`"
                ),
            ));
        }
    };
    Ok(Given {
        value: amount,
        span: start(value),
    })
}

fn percent(text: &str, number: &str) -> Result<Amount, String> {
    let accepted = "accepted are whole percentages from \"1%\" to \"100%\"";
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("`{text}` is not a whole percentage; {accepted}"));
    }
    match number.parse() {
        Ok(0) => Err(format!(
            "`{text}` is zero, which would be over before it starts; {accepted}"
        )),
        Ok(percent @ 1..=100) => Ok(Amount::Percent(percent)),
        _ => Err(format!("`{text}` is more than all there is; {accepted}")),
    }
}
