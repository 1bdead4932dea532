//! The arguments of `#[deadline(…)]`.

use super::Given;
use super::amount::{self, Amount};
use super::options::{self, Argument, bare, once, start, unknown};
use crate::faults::Faults;
use proc_macro2::{Ident, Span, TokenStream};
use syn::{Expr, ExprLit, Lit, LitStr, Path};

/// Every argument as given.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) budget: Option<Given<Amount>>,
    pub(crate) reserve: Option<Given<Amount>>,
    pub(crate) min: Option<Given<Amount>>,
    pub(crate) plan: Option<Given<Amount>>,
    pub(crate) cleanup: Option<Given<Amount>>,
    pub(crate) fallback: Option<Expr>,
    pub(crate) parent: Option<Parent>,
    pub(crate) bind: Option<Ident>,
    pub(crate) checkpoints: Option<Checkpoints>,
    pub(crate) name: Option<LitStr>,
    pub(crate) runtime: Option<Path>,
    pub(crate) allow_overcommit: Option<Span>,
    pub(crate) audit: Option<Span>,
    pub(crate) keep_async: Option<Span>,
    pub(crate) boxed: Option<Boxed>,
}

pub(crate) enum Parent {
    /// `parent = cx`: this parameter.
    Parameter(Ident),
    /// `parent = "required"`.
    Required,
}

/// What the body is put into.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boxed {
    /// `boxed`: a box of its own type.
    Plain,
    /// `boxed = "send"`: a `dyn Future + Send`, which ends the nesting of types.
    Send,
}

/// Which checkpoints the expansion contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checkpoints {
    Auto,
    Awaits,
    Loops,
    Off,
}

const NAMES: [&str; 15] = [
    "budget",
    "reserve",
    "min",
    "plan",
    "cleanup",
    "fallback",
    "parent",
    "bind",
    "checkpoints",
    "name",
    "allow_overcommit",
    "audit",
    "keep_async",
    "boxed",
    "crate",
];

pub(crate) fn parse(arguments: TokenStream, faults: &mut Faults) -> Arguments {
    let mut parsed = Arguments::default();
    for argument in options::split(arguments, faults) {
        match &argument.name {
            Some(name) => parsed.take(name, argument.value.as_ref(), faults),
            None => faults.at(argument.span(), positional(&argument)),
        }
    }
    parsed
}

fn positional(argument: &Argument) -> String {
    match &argument.value {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        })) => {
            format!("name the argument: `budget = \"{}\"`", text.value())
        }
        _ => "expected `name = value`, such as `budget = \"450ms\"`".to_owned(),
    }
}

impl Arguments {
    fn take(&mut self, name: &Ident, value: Option<&Expr>, faults: &mut Faults) {
        let text = name.to_string();
        match text.as_str() {
            "budget" => once(&mut self.budget, amount(name, value, faults), name, faults),
            "reserve" => once(&mut self.reserve, amount(name, value, faults), name, faults),
            "min" => once(&mut self.min, amount(name, value, faults), name, faults),
            "plan" => once(&mut self.plan, amount(name, value, faults), name, faults),
            "cleanup" => once(&mut self.cleanup, amount(name, value, faults), name, faults),
            "fallback" => once(
                &mut self.fallback,
                expression(name, value, faults),
                name,
                faults,
            ),
            "parent" => once(&mut self.parent, parent(name, value, faults), name, faults),
            "bind" => once(&mut self.bind, bind(name, value, faults), name, faults),
            "checkpoints" => once(
                &mut self.checkpoints,
                checkpoints(name, value, faults),
                name,
                faults,
            ),
            "name" => once(&mut self.name, operation(name, value, faults), name, faults),
            "crate" => once(
                &mut self.runtime,
                runtime(name, value, faults),
                name,
                faults,
            ),
            "audit" => once(
                &mut self.audit,
                Some(flag(name, value, faults)),
                name,
                faults,
            ),
            "allow_overcommit" => once(
                &mut self.allow_overcommit,
                Some(flag(name, value, faults)),
                name,
                faults,
            ),
            "keep_async" => once(
                &mut self.keep_async,
                Some(flag(name, value, faults)),
                name,
                faults,
            ),
            "boxed" => once(&mut self.boxed, boxed(value, faults), name, faults),
            _ => unknown(name, &NAMES, faults),
        }
    }
}

fn amount(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Option<Given<Amount>> {
    faults.value(amount::read(&name.to_string(), value, name.span()))
}

fn expression(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Option<Expr> {
    if value.is_none() {
        faults.at(name.span(), format!("`{name}` needs a value: the expression to return, or a closure that is given the `Stopped`"));
    }
    value.cloned()
}

fn flag(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Span {
    if let Some(value) = value {
        faults.at(
            start(value),
            format!("`{name}` takes no value: write `{name}` to switch it on"),
        );
    }
    name.span()
}

fn parent(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Option<Parent> {
    match value.map(bare) {
        Some(Expr::Path(path)) if path.path.get_ident().is_some() => {
            path.path.get_ident().cloned().map(Parent::Parameter)
        }
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        })) if text.value() == "required" => Some(Parent::Required),
        value => {
            let span = value.map_or_else(|| name.span(), start);
            faults.at(span, "`parent` accepts the name of a parameter of type `Context` or `&Context`, or \"required\"");
            None
        }
    }
}

fn bind(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Option<Ident> {
    match value.map(bare) {
        Some(Expr::Path(path)) if path.path.get_ident().is_some() => path.path.get_ident().cloned(),
        value => {
            let span = value.map_or_else(|| name.span(), start);
            faults.at(
                span,
                "`bind` accepts a new variable's name, such as `bind = cx`",
            );
            None
        }
    }
}

fn checkpoints(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Option<Checkpoints> {
    const WORDS: [&str; 4] = ["auto", "awaits", "loops", "off"];
    let accepted = "`checkpoints` accepts \"auto\", \"awaits\", \"loops\" or \"off\"";
    let text = match value.map(bare) {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        })) => text,
        value => {
            faults.at(value.map_or_else(|| name.span(), start), accepted);
            return None;
        }
    };
    match text.value().as_str() {
        "auto" => Some(Checkpoints::Auto),
        "awaits" => Some(Checkpoints::Awaits),
        "loops" => Some(Checkpoints::Loops),
        "off" => Some(Checkpoints::Off),
        other => {
            let hint = crate::nearest::nearest(other, WORDS)
                .map_or_else(String::new, |word| format!(", did you mean \"{word}\"?"));
            faults.at(text.span(), format!("{accepted}{hint}"));
            None
        }
    }
}

fn boxed(value: Option<&Expr>, faults: &mut Faults) -> Option<Boxed> {
    match value.map(bare) {
        None => Some(Boxed::Plain),
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        })) if text.value() == "send" => Some(Boxed::Send),
        Some(value) => {
            faults.at(
                start(value),
                "`boxed` takes no value: write `boxed` to switch it on, or `boxed = \"send\"` for a `dyn Future + Send`",
            );
            None
        }
    }
}

fn operation(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Option<LitStr> {
    match value.map(bare) {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        })) if !text.value().trim().is_empty() => Some(text.clone()),
        value => {
            let span = value.map_or_else(|| name.span(), start);
            faults.at(
                span,
                "`name` accepts a string that is not empty, such as `name = \"load_profile\"`",
            );
            None
        }
    }
}

pub(crate) fn runtime(name: &Ident, value: Option<&Expr>, faults: &mut Faults) -> Option<Path> {
    match value.map(bare) {
        Some(Expr::Path(path)) if path.qself.is_none() => Some(path.path.clone()),
        value => {
            let span = value.map_or_else(|| name.span(), start);
            faults.at(span, "`crate` accepts the path under which the runtime is reached, such as `crate = ::my_facade::deadline`");
            None
        }
    }
}
