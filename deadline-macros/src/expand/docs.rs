//! The figures in the documentation of the function, for its callers.

use crate::duration::figure;
use crate::model::Scope;
use crate::parse::Given;
use crate::parse::amount::Amount;
use quote::ToTokens as _;
use syn::{Attribute, Meta, parse_quote};

/// Appends one line under the user's own text. A function without documentation stays without, so that
/// `missing_docs` has its say.
pub(super) fn append(attrs: &mut Vec<Attribute>, scope: &Scope) {
    let Some(last) = attrs.iter().rposition(is_text) else {
        return;
    };
    let figures: Vec<String> = [
        ("budget", &scope.budget),
        ("plan", &scope.plan),
        ("reserve", &scope.reserve),
        ("min", &scope.min),
        ("cleanup", &scope.cleanup),
    ]
    .into_iter()
    .filter_map(|(name, given)| Some(format!("{name} {}", text(given.as_ref()?))))
    .collect();
    if figures.is_empty() {
        return;
    }
    let line = format!(" *Deadline:* {}.", figures.join(", "));
    attrs.splice(
        (last + 1)..=last,
        [parse_quote!(#[doc = ""]), parse_quote!(#[doc = #line])],
    );
}

fn is_text(attr: &Attribute) -> bool {
    attr.path().is_ident("doc") && matches!(attr.meta, Meta::NameValue(_))
}

fn text(given: &Given<Amount>) -> String {
    match &given.value {
        Amount::Millis(millis) => figure(*millis),
        Amount::Percent(percent) => format!("{percent}%"),
        Amount::Path(path) => format!("`{}`", path.to_token_stream().to_string().replace(' ', "")),
    }
}
