//! The constants that carry the figures to the runtime.

use crate::model::Scope;
use crate::model::runtime::Runtime;
use crate::parse::Given;
use crate::parse::amount::Amount;
use proc_macro2::{Literal, Span, TokenStream};
use quote::quote_spanned;

/// `Millis<450>`, `Millis<1000, 50>` with a plan, `Percent<40>`, `Unbudgeted`.
pub(super) fn budget(scope: &Scope, span: Span) -> TokenStream {
    cap(
        scope.budget.as_ref(),
        scope.plan.as_ref(),
        &scope.runtime,
        span,
    )
}

fn cap(
    budget: Option<&Given<Amount>>,
    plan: Option<&Given<Amount>>,
    runtime: &Runtime,
    span: Span,
) -> TokenStream {
    let root = runtime.root(span);
    let Some(budget) = budget else {
        return quote_spanned!(span=> #root::Unbudgeted);
    };
    if let Amount::Percent(percent) = budget.value {
        let percent = Literal::u64_unsuffixed(percent);
        return quote_spanned!(span=> #root::Percent<#percent>);
    }
    let argument = |given: &Given<Amount>| match &given.value {
        Amount::Path(_) => {
            let millis = millis(given, runtime, span);
            quote_spanned!(span=> { #millis })
        }
        _ => millis(given, runtime, span),
    };
    let cap = argument(budget);
    if let Some(plan) = plan.map(argument) {
        quote_spanned!(span=> #root::Millis<#cap, #plan>)
    } else {
        quote_spanned!(span=> #root::Millis<#cap>)
    }
}

/// A number of milliseconds; of a `const` the compiler works it out.
pub(super) fn millis(given: &Given<Amount>, runtime: &Runtime, span: Span) -> TokenStream {
    match &given.value {
        Amount::Millis(number) | Amount::Percent(number) => {
            let number = Literal::u64_unsuffixed(*number);
            quote_spanned!(span=> #number)
        }
        Amount::Path(path) => {
            let span = given.span;
            let private = runtime.private(span);
            quote_spanned!(span=> #private::Constant(#path).whole_millis())
        }
    }
}

// Input:   #[deadline(budget = "900ms", reserve = "100ms")] … dashboard
// Output:  const { &Spec::<Millis<900>>::new("dashboard").reserve(100) }
//
// The tokens have the place of the literal, because that is the file and line which `Stopped::limited_by()` shows. Where
// the signature says the budget, a `const` in it is not worked out again: what is wrong with it would be said twice.
pub(super) fn scope(scope: &Scope, in_signature: bool) -> TokenStream {
    let span = scope.anchor;
    let budget = if in_signature && by_path(scope) {
        quote_spanned!(span=> _)
    } else {
        budget(scope, span)
    };
    let private = scope.runtime.private(span);
    let name = literal(&scope.name, span);
    let reserve = setting("reserve", scope.reserve.as_ref(), &scope.runtime, span);
    let min = setting("min", scope.min.as_ref(), &scope.runtime, span);
    let cleanup = setting("cleanup", scope.cleanup.as_ref(), &scope.runtime, span);
    let parent = matches!(scope.parent, Some(crate::parse::deadline::Parent::Required))
        .then(|| quote_spanned!(span=> .parent_required()));
    quote_spanned! {span=>
        const { &#private::Spec::<#budget>::new(#name) #reserve #min #cleanup #parent }
    }
}

fn by_path(scope: &Scope) -> bool {
    [&scope.budget, &scope.plan]
        .into_iter()
        .flatten()
        .any(|given| matches!(given.value, Amount::Path(_)))
}

// Input:   #[budget("250ms")] … orders.recent(user).await
// Output:  const { &Spec::<Millis<250>>::new("orders.recent") }
pub(super) fn statement(amount: &Given<Amount>, name: &str, runtime: &Runtime) -> TokenStream {
    let span = amount.span;
    let cap = cap(Some(amount), None, runtime, span);
    let private = runtime.private(span);
    let name = literal(name, span);
    quote_spanned!(span=> const { &#private::Spec::<#cap>::new(#name) })
}

pub(super) fn setting(
    name: &str,
    given: Option<&Given<Amount>>,
    runtime: &Runtime,
    span: Span,
) -> Option<TokenStream> {
    let given = given?;
    let method = match given.value {
        Amount::Percent(_) => quote::format_ident!("{name}_percent", span = span),
        _ => proc_macro2::Ident::new(name, span),
    };
    let millis = millis(given, runtime, span);
    Some(quote_spanned!(span=> .#method(#millis)))
}

pub(super) fn literal(text: &str, span: Span) -> Literal {
    let mut literal = Literal::string(text);
    literal.set_span(span);
    literal
}
