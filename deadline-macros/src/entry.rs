//! What happens when one of the attributes is met: parse, model, check, expand.

use crate::faults::Faults;
use crate::model::runtime::Runtime;
use crate::model::shape::{self, Shape};
use crate::model::{Function, Scope};
use crate::parse::deadline::{self as arguments, Arguments};
use crate::parse::item::{self, Item};
use crate::parse::statement::{Statement, name_span};
use crate::parse::{options, statements};
use crate::{check, expand, syntax};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Attribute, ItemFn, parse_quote};

pub(crate) fn deadline(args: &TokenStream, tokens: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let arguments = arguments::parse(args.clone(), &mut faults);
    match item::parse(tokens.clone()) {
        Item::Function(item) if item.attrs.iter().any(shape::goes_first) => {
            after_the_others(args, *item, &Runtime::new(arguments.runtime))
        }
        Item::Function(item) => {
            let function = model(arguments, *item, &mut faults);
            if faults.none() {
                expand::function(function)
            } else {
                refused(faults, tokens)
            }
        }
        Item::WithoutBody(name) => {
            faults.at(name, "a method without a body has nothing to give a deadline to\nput `#[deadline]` on the methods of the `impl`s");
            refused(faults, tokens)
        }
        Item::Other(span) => {
            faults.at(span, "`#[deadline]` belongs on an `async fn`\ninside a function, `#[budget(\"250ms\")]` goes on statements and expressions");
            refused(faults, tokens)
        }
    }
}

/// Reads and checks one function.
pub(crate) fn model(arguments: Arguments, mut item: ItemFn, faults: &mut Faults) -> Function {
    for attr in item.attrs.iter().filter(|attr| is(attr, "deadline")) {
        faults.at(name_span(attr), "`#[deadline]` is given twice: remove one");
    }
    let shape = Shape::of(&item, arguments.keep_async.is_some(), faults);
    let scope = Scope::new(arguments, &item.sig);
    let mut statements = Vec::new();
    shape::with_own_body(shape, &mut item.block, |body| {
        statements = statements::collect(body, faults);
    });
    let mut function = Function {
        item,
        shape,
        scope,
        statements,
    };
    check::function(&mut function, faults);
    function
}

// Input:   #[deadline(…)] #[instrument] async fn f() { … }
// Output:  #[instrument] #[deadline(…)] async fn f() { … }
//
// Attributes expand from the top. The macros that wrap a body in a span look for an `async fn`, so they come first.
fn after_the_others(args: &TokenStream, mut item: ItemFn, runtime: &Runtime) -> TokenStream {
    let root = runtime.root(Span::call_site());
    item.attrs.push(parse_quote!(#[#root::deadline(#args)]));
    item.into_token_stream()
}

pub(crate) fn checkpoint(args: TokenStream, tokens: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let mut given = Arguments::default();
    for argument in options::split(args, &mut faults) {
        match &argument.name {
            Some(name) if name == "crate" => {
                given.runtime = arguments::runtime(name, argument.value.as_ref(), &mut faults);
            }
            Some(name) if name == "off" => faults.at(
                name.span(),
                "`#[checkpoint(off)]` belongs on a loop inside a function with `#[deadline]` or `#[checkpoint]`",
            ),
            _ => faults.at(argument.span(), "`#[checkpoint]` on a function accepts `crate = path` and nothing else"),
        }
    }
    let Item::Function(mut item) = item::parse(tokens.clone()) else {
        if faults.none() {
            faults.at(
                Span::call_site(),
                "`#[checkpoint]` belongs on a synchronous `fn` with a body",
            );
        }
        return refused(faults, tokens);
    };
    if let Some(asyncness) = &item.sig.asyncness {
        faults.at(
            asyncness.span,
            "`#[checkpoint]` is for synchronous functions: an `async fn` takes `#[deadline]`",
        );
    }
    if let Some(constness) = &item.sig.constness {
        faults.at(constness.span, "`#[checkpoint]` cannot serve a `const fn`: there is no deadline when the compiler runs it");
    }
    let scope = Scope::new(given, &item.sig);
    let statements = statements::collect(&mut item.block, &mut faults);
    for placed in &statements {
        match placed.statement {
            Statement::NoCheckpoint if placed.on_a_loop => {}
            Statement::NoCheckpoint => faults.at(
                placed.span,
                "`#[checkpoint(off)]` belongs on a `loop`, `while` or `for`",
            ),
            Statement::Budget(_) | Statement::Shield(_) => {
                faults.at(
                    placed.span,
                    "a synchronous function awaits nothing that this could bound",
                );
            }
        }
    }
    if faults.none() {
        expand::synchronous::function(*item, &scope, &statements)
    } else {
        refused(faults, tokens)
    }
}

/// `#[budget]` and `#[shield]` arrive here only where no `#[deadline]` has consumed them.
pub(crate) fn outside(name: &str, args: &TokenStream, tokens: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let message = match (name, item::parse(tokens.clone())) {
        ("budget", Item::Function(_)) => {
            format!("for a whole function write `#[deadline(budget = {args})]`")
        }
        _ => format!(
            "`#[{name}]` belongs on a statement or an expression with an `await`, directly in an `async fn` with `#[deadline]`"
        ),
    };
    faults.at(Span::call_site(), message);
    refused(faults, tokens)
}

/// The errors, and the item as it was, so that its callers still find it.
fn refused(faults: Faults, tokens: TokenStream) -> TokenStream {
    let errors = faults.into_compile_errors();
    let item = syntax::without_our_attributes(tokens);
    quote!(#errors #item)
}

fn is(attr: &Attribute, name: &str) -> bool {
    attr.path()
        .segments
        .last()
        .is_some_and(|last| last.ident == name)
}
