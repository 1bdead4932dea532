//! What is to be built. Nothing here changes once it has been checked.

pub(crate) mod calls;
pub(crate) mod flow;
pub(crate) mod later;
pub(crate) mod names;
pub(crate) mod output;
pub(crate) mod runtime;
pub(crate) mod shape;

use crate::parse::Given;
use crate::parse::amount::Amount;
use crate::parse::deadline::{Arguments, Boxed, Checkpoints, Parent};
use crate::parse::statements::Placed;
use crate::syntax::mentions;
use proc_macro2::{Ident, Span};
use quote::ToTokens as _;
use runtime::Runtime;
use shape::Shape;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Expr, ItemFn, ReturnType, Signature, Type};

/// One annotated function.
pub(crate) struct Function {
    /// As written, with marks in place of the attributes inside its body.
    pub(crate) item: ItemFn,
    pub(crate) shape: Shape,
    pub(crate) scope: Scope,
    pub(crate) statements: Vec<Placed>,
}

/// The figures and choices of one scope.
pub(crate) struct Scope {
    pub(crate) runtime: Runtime,
    pub(crate) name: String,
    /// The literal or attribute that `limited_by()` shows as file and line.
    pub(crate) anchor: Span,
    /// The return type. That it cannot carry a stop is said there, and only once: rustc drops a demand that is repeated
    /// at one and the same place.
    pub(crate) place: Span,
    /// What the body evaluates to, without its `impl Trait`s.
    pub(crate) output: Type,
    pub(crate) budget: Option<Given<Amount>>,
    pub(crate) plan: Option<Given<Amount>>,
    pub(crate) reserve: Option<Given<Amount>>,
    pub(crate) min: Option<Given<Amount>>,
    pub(crate) cleanup: Option<Given<Amount>>,
    pub(crate) fallback: Option<Expr>,
    pub(crate) parent: Option<Parent>,
    pub(crate) bind: Option<Ident>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) allow_overcommit: bool,
    pub(crate) audit: bool,
    pub(crate) keep_async: Option<Span>,
    pub(crate) boxed: Option<Boxed>,
}

impl Scope {
    pub(crate) fn new(arguments: Arguments, function: &Signature) -> Self {
        let place = match &function.output {
            ReturnType::Default => function.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        };
        Scope {
            name: arguments
                .name
                .map_or_else(|| function.ident.unraw().to_string(), |name| name.value()),
            anchor: arguments
                .budget
                .as_ref()
                .map_or_else(Span::call_site, |budget| budget.span),
            place: Span::mixed_site().located_at(place),
            output: output::inferred(function),
            runtime: Runtime::new(arguments.runtime),
            budget: arguments.budget,
            plan: arguments.plan,
            reserve: arguments.reserve,
            min: arguments.min,
            cleanup: arguments.cleanup,
            fallback: arguments.fallback,
            parent: arguments.parent,
            bind: arguments.bind,
            checkpoints: arguments.checkpoints.unwrap_or(Checkpoints::Auto),
            allow_overcommit: arguments.allow_overcommit.is_some(),
            audit: arguments.audit.is_some(),
            keep_async: arguments.keep_async,
            boxed: arguments.boxed,
        }
    }

    /// Whether the fallback may use a variable of this name, perhaps in a format string.
    pub(crate) fn fallback_mentions(&self, variable: &Ident) -> bool {
        let name = variable.unraw().to_string();
        self.fallback.as_ref().is_some_and(|fallback| {
            mentions(fallback.to_token_stream(), &|word| word.contains(&name))
        })
    }

    pub(crate) fn gates(&self) -> bool {
        matches!(self.checkpoints, Checkpoints::Auto | Checkpoints::Awaits)
    }

    pub(crate) fn loops(&self) -> bool {
        matches!(self.checkpoints, Checkpoints::Auto | Checkpoints::Loops)
    }
}

/// The number of milliseconds, where a literal says it.
pub(crate) fn millis(given: Option<&Given<Amount>>) -> Option<u64> {
    match given?.value {
        Amount::Millis(millis) => Some(millis),
        Amount::Percent(_) | Amount::Path(_) => None,
    }
}
