//! The attributes inside an annotated function: `#[budget]`, `#[shield]`, `#[checkpoint(off)]`.

use super::Given;
use super::amount::{self, Amount};
use super::options::{self, Argument, bare, once, start, unknown};
use crate::faults::Faults;
use proc_macro2::{Ident, Span, TokenStream};
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// One attribute as given.
pub(crate) enum Statement {
    Budget(Budget),
    Shield(Shield),
    /// `#[checkpoint(off)]`.
    NoCheckpoint,
}

pub(crate) struct Budget {
    pub(crate) amount: Given<Amount>,
    pub(crate) fallback: Option<Expr>,
    pub(crate) times: Option<Given<u64>>,
}

pub(crate) struct Shield {
    pub(crate) amount: Given<Amount>,
}

/// Which of our attributes this is, by the last segment of its path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Budget,
    Shield,
    Checkpoint,
}

impl Kind {
    pub(crate) fn of(attr: &Attribute) -> Option<Self> {
        Self::named(&attr.path().segments.last()?.ident)
    }

    pub(crate) fn named(ident: &Ident) -> Option<Self> {
        match ident.to_string().as_str() {
            "budget" => Some(Kind::Budget),
            "shield" => Some(Kind::Shield),
            "checkpoint" => Some(Kind::Checkpoint),
            _ => None,
        }
    }
}

/// Where messages about the attribute as a whole point: at its name.
pub(crate) fn name_span(attr: &Attribute) -> Span {
    attr.path()
        .segments
        .last()
        .map_or_else(Span::call_site, |segment| segment.ident.span())
}

pub(crate) fn parse(kind: Kind, attr: &Attribute, faults: &mut Faults) -> Option<Statement> {
    let span = name_span(attr);
    let arguments = match &attr.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(_) => {
            faults.at(
                span,
                "the value goes into parentheses, such as `#[budget(\"250ms\")]`",
            );
            return None;
        }
    };
    match kind {
        Kind::Budget => budget(arguments, span, faults).map(Statement::Budget),
        Kind::Shield => shield(arguments, span, faults).map(Statement::Shield),
        Kind::Checkpoint => checkpoint(arguments, span, faults).then_some(Statement::NoCheckpoint),
    }
}

fn budget(arguments: TokenStream, span: Span, faults: &mut Faults) -> Option<Budget> {
    let (mut amount, mut fallback, mut times) = (None, None, None);
    let mut broken = false;
    for argument in options::split(arguments, faults) {
        match &argument.name {
            Some(name) if name == "fallback" => {
                once(&mut fallback, argument.value.clone(), name, faults);
            }
            Some(name) if name == "times" => {
                let given = repetitions(&argument, faults);
                broken |= given.is_none();
                once(&mut times, given, name, faults);
            }
            _ => {
                broken |= !leading_amount(
                    "budget",
                    &argument,
                    &mut amount,
                    &["fallback", "times"],
                    faults,
                );
            }
        }
    }
    if amount.is_none() && !broken && faults.none() {
        faults.at(
            span,
            "`#[budget]` needs an amount, such as `#[budget(\"250ms\")]`",
        );
    }
    Some(Budget {
        amount: amount?,
        fallback,
        times,
    })
}

fn shield(arguments: TokenStream, span: Span, faults: &mut Faults) -> Option<Shield> {
    let mut amount = None;
    let mut broken = false;
    for argument in options::split(arguments, faults) {
        broken |= !leading_amount("shield", &argument, &mut amount, &[], faults);
    }
    if amount.is_none() && !broken && faults.none() {
        faults.at(
            span,
            "`#[shield]` needs an amount, such as `#[shield(\"50ms\")]`",
        );
    }
    Some(Shield { amount: amount? })
}

fn checkpoint(arguments: TokenStream, span: Span, faults: &mut Faults) -> bool {
    let arguments = options::split(arguments, faults);
    let off = matches!(&*arguments, [argument] if argument.is("off") && argument.value.is_none());
    if !off {
        let span = arguments.first().map_or(span, Argument::span);
        faults.at(span, "inside a function this is `#[checkpoint(off)]`, on a loop that shall have no checkpoint");
    }
    off
}

/// The amount that comes first and has no name. `LIMIT`, a path of one segment, looks like a flag.
fn leading_amount(
    attribute: &str,
    argument: &Argument,
    place: &mut Option<Given<Amount>>,
    accepted: &[&str],
    faults: &mut Faults,
) -> bool {
    let path;
    let value = match (&argument.name, &argument.value) {
        (Some(name), None) if place.is_none() => {
            path = syn::parse_quote!(#name);
            Some(&path)
        }
        (Some(name), _) if name == attribute => {
            faults.at(
                name.span(),
                format!("the amount has no name here: `#[{attribute}(\"250ms\")]`"),
            );
            return false;
        }
        (Some(name), _) => {
            if accepted.is_empty() {
                faults.at(
                    name.span(),
                    format!("`#[{attribute}]` accepts an amount and nothing else"),
                );
            } else {
                unknown(name, accepted, faults);
            }
            return false;
        }
        (None, value) => value.as_ref(),
    };
    let Some(given) = faults.value(amount::read(attribute, value, argument.span())) else {
        return false;
    };
    if place.is_some() {
        faults.at(given.span, "the amount is given twice: remove one");
        return false;
    }
    *place = Some(given);
    true
}

fn repetitions(argument: &Argument, faults: &mut Faults) -> Option<Given<u64>> {
    let value = argument.value.as_ref().map(bare);
    if let Some(Expr::Lit(ExprLit {
        lit: Lit::Int(number),
        ..
    })) = value
        && let Ok(value @ 1..) = number.base10_parse::<u64>()
    {
        return Some(Given {
            value,
            span: number.span(),
        });
    }
    let span = value.map_or_else(|| argument.span(), start);
    faults.at(
        span,
        "`times` accepts a whole number from 1 on: how often the loop runs at most",
    );
    None
}
