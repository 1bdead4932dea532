//! That the calls of a body fit its budget, for the compiler to check.

use super::spec;
use crate::model::calls::{self, Call, Calls};
use crate::model::flow::{self, Flow};
use crate::model::shape::{self, Shape};
use crate::model::runtime::{Place, Runtime};
use crate::model::Scope;
use crate::parse::Given;
use crate::parse::amount::Amount;
use crate::parse::statement::Statement;
use crate::parse::statements::Placed;
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{Block, Expr, GenericParam, ItemFn, Signature, Type};

/// Longer tuples are put into tuples, and these into a closure: rustc shows the type under the message.
const LONGEST_TUPLE: usize = 8;

/// The check of one function.
pub(super) struct Fit {
    calls: Calls,
    /// The control flow, as a constant of the runtime.
    step: TokenStream,
}

impl Fit {
    /// Gives the calls of the body their numbers. None where there is nothing to check.
    pub(super) fn of(
        body: &mut Block,
        sig: &Signature,
        scope: &Scope,
        statements: &[Placed],
    ) -> Option<Self> {
        if !has_a_limit(scope) || !can_be_constant(sig, scope) {
            return None;
        }
        let calls = calls::number(body, &sig.ident, statements);
        if calls.all.is_empty() && !amounts(scope).any(is_path) {
            return None;
        }
        let writer = Writer {
            private: scope.runtime.private(scope.anchor),
            runtime: &scope.runtime,
            calls: &calls,
            statements,
            span: scope.anchor,
        };
        let step = writer.tokens(writer.write(&flow::of(body, statements)));
        Some(Fit { calls, step })
    }

    /// The call that stands for the constant in this `#[budget]`.
    pub(super) fn constant(&self, number: usize) -> Option<usize> {
        self.calls.covered.get(number)?.constant
    }

    // Input:   FUTURE
    // Output:  let call_0 = call(0, 0);
    //          let future = FUTURE;
    //          {
    //              struct Calls;
    //              impl<D: Declares> Fits<D> for Calls {
    //                  const BUDGET: Fit<D> = Limits::of("dashboard", 900).reserve(100).hold(&Step::Call(0, "load_profile"));
    //              }
    //              match calls((call_0,)) { <Calls as Fits<_>>::BUDGET => future }
    //          }
    //
    // A constant in a pattern is evaluated by `cargo check`, one in an expression by `cargo build` only. The slots are
    // looked at behind the body, because that is where their types are known.
    pub(super) fn around(&self, future: &TokenStream, scope: &Scope) -> TokenStream {
        let span = scope.place;
        let private = scope.runtime.private(span);
        let slots = self.calls.all.iter().enumerate().map(|(number, call)| {
            let slot = slot(number, span);
            match condition(call) {
                None => quote_spanned!(span=> let #slot = #private::call(0, 0);),
                Some(present) => quote_spanned! {span=>
                    #[cfg(#present)]
                    let #slot = #private::call(0, 0);
                    #[cfg(not(#present))]
                    let #slot = #private::nothing();
                },
            }
        });
        let tuple = tuple(
            (0..self.calls.all.len())
                .map(|number| slot_tokens(number, span))
                .collect(),
            span,
        );

        let calls = quote_spanned!(span=> #private::calls(#tuple));
        let calls = if self.calls.all.len() <= LONGEST_TUPLE {
            calls
        } else {
            let closure = quote_spanned!(scope.anchor=> ||);
            quote_spanned!(span=> #private::many_calls(#closure #calls))
        };

        let at = scope.anchor;
        let constants = scope.runtime.private(at);
        let limits = limits(scope);
        let step = &self.step;
        let hold = hold(&quote_spanned!(at=> &#step), scope);
        let check = quote_spanned! {at=>
            struct Calls;
            impl<D: #constants::Declares> #constants::Fits<D> for Calls {
                const BUDGET: #constants::Fit<D> = #limits.#hold;
            }
        };
        quote_spanned! {span=>
            #(#slots)*
            let future = #future;
            {
                #check
                match #calls {
                    <Calls as #private::Fits<_>>::BUDGET => future,
                }
            }
        }
    }
}

/// A slot by its number.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    /// Of a call that counts.
    Call(usize),
    /// Of an await that does not, or is not there because of a `#[cfg]`.
    Uncounted(usize),
}

impl Slot {
    pub(super) fn variable(self, span: Span) -> Ident {
        let span = Span::mixed_site().located_at(span);
        match self {
            Slot::Call(number) => format_ident!("call_{number}", span = span),
            Slot::Uncounted(number) => format_ident!("_await_{number}", span = span),
        }
    }
}

/// The variable of the call with this number.
pub(super) fn slot(number: usize, span: Span) -> Ident {
    Slot::Call(number).variable(span)
}

fn slot_tokens(number: usize, span: Span) -> TokenStream {
    let slot = slot(number, span);
    quote!(#slot)
}

/// The condition under which a call is there.
fn condition(call: &Call) -> Option<TokenStream> {
    match &*call.conditions {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(quote!(all(#(#all),*))),
    }
}

fn tuple(mut parts: Vec<TokenStream>, span: Span) -> TokenStream {
    while parts.len() > LONGEST_TUPLE {
        parts = parts
            .chunks(LONGEST_TUPLE)
            .map(|chunk| quote_spanned!(span=> (#(#chunk,)*)))
            .collect();
    }
    match &*parts {
        [one] => quote_spanned!(span=> (#one,)),
        parts => quote_spanned!(span=> (#(#parts),*)),
    }
}

/// Whether the block can hold slots. One that does not move what it uses would borrow them, and a function that keeps
/// its `async` has none of its own.
pub(super) fn can_serve(shape: Shape, item: &mut ItemFn) -> bool {
    let mut moves = false;
    match shape {
        Shape::Returned => return true,
        Shape::Kept => return false,
        Shape::Block => shape::with_future(&mut item.block, |future| {
            moves = matches!(future, Expr::Async(block) if block.capture.is_some());
        }),
    }
    moves
}

/// A percentage is one of a time that only the running program knows.
fn has_a_limit(scope: &Scope) -> bool {
    !scope.allow_overcommit
        && matches!(
            &scope.budget,
            Some(Given {
                value: Amount::Millis(_) | Amount::Path(_),
                ..
            })
        )
}

/// What a constant of its own has to name.
fn amounts(scope: &Scope) -> impl Iterator<Item = &Amount> {
    [&scope.budget, &scope.reserve, &scope.cleanup]
        .into_iter()
        .flatten()
        .map(|given| &given.value)
}

/// The tokens alone do not say what a constant is, so that the check is needed without any call too.
fn is_path(amount: &Amount) -> bool {
    matches!(amount, Amount::Path(_))
}

/// A constant of its own sees neither the generics of the function nor its `Self`.
fn can_be_constant(sig: &Signature, scope: &Scope) -> bool {
    let names_self = amounts(scope).any(|amount| {
        matches!(amount, Amount::Path(path)
            if path.segments.first().is_some_and(|first| first.ident == "Self"))
    });
    let has_figures = sig
        .generics
        .params
        .iter()
        .any(|param| matches!(param, GenericParam::Const(param) if may_be_a_figure(&param.ty)));
    !names_self && !has_figures && !has_our_names(sig)
}

/// `Millis<N>` of a const parameter is no figure yet, and a constant in a pattern must be one. Figures are `u64`; a path
/// to something else may be another name for that.
fn may_be_a_figure(ty: &Type) -> bool {
    const OTHERS: [&str; 13] = [
        "bool", "char", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u128",
        "usize",
    ];
    !OTHERS
        .iter()
        .any(|other| matches!(ty, Type::Path(path) if path.path.is_ident(other)))
}

/// A parameter called `call_0` would be taken for a slot.
fn has_our_names(sig: &Signature) -> bool {
    let is_ours = |word: &str| {
        word.strip_prefix("call_")
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    crate::syntax::mentions(sig.inputs.to_token_stream(), &is_ours)
}

// Output:  hold(&STEP)
//
// What rustc underlines reaches from the first of these tokens to the last.
fn hold(step: &TokenStream, scope: &Scope) -> TokenStream {
    let last = match &scope.budget {
        Some(Given {
            value: Amount::Path(path),
            ..
        }) => path.segments.last().map(|last| last.ident.span()),
        _ => None,
    };
    let name = Ident::new("hold", scope.anchor);
    let mut arguments = Group::new(Delimiter::Parenthesis, step.clone());
    arguments.set_span(last.unwrap_or(scope.anchor));
    quote!(#name #arguments)
}

// Output:  Limits::of("dashboard", 900).reserve(100).cleanup(50)
fn limits(scope: &Scope) -> TokenStream {
    let span = scope.anchor;
    let private = scope.runtime.private(span);
    let name = spec::literal(&scope.name, span);
    let budget = scope
        .budget
        .as_ref()
        .map(|budget| spec::millis(budget, &scope.runtime, span));
    let reserve = spec::setting("reserve", scope.reserve.as_ref(), &scope.runtime, span);
    let cleanup = spec::setting("cleanup", scope.cleanup.as_ref(), &scope.runtime, span);
    quote_spanned!(span=> #private::Limits::of(#name, #budget) #reserve #cleanup)
}

/// A step as tokens, none if it takes no time and goes on, and what has to be known about it to leave out what makes no difference.
struct Written {
    tokens: TokenStream,
    /// Something in it has a price.
    priced: bool,
    /// There is a `break` or `continue` in it that ends a way through the loop around it.
    breaks: bool,
    /// It can go on behind it.
    through: bool,
}

impl Written {
    fn is_nothing(&self) -> bool {
        !self.priced && !self.breaks && self.through
    }

    fn is_bare_return(&self) -> bool {
        !self.priced && !self.breaks && !self.through
    }
}

struct Writer<'a> {
    private: Place<'a>,
    runtime: &'a Runtime,
    calls: &'a Calls,
    statements: &'a [Placed],
    span: Span,
}

impl Writer<'_> {
    fn write(&self, flow: &Flow) -> Written {
        match flow {
            Flow::Nothing => self.sequence(&[]),
            Flow::Call(number) => {
                let name = self
                    .calls
                    .all
                    .get(*number)
                    .map_or("await", |call| &call.name);
                let name = spec::literal(name, self.span);
                let number = Literal::usize_unsuffixed(*number);
                Written {
                    tokens: self.step("Call", &quote!(#number, #name)),
                    priced: true,
                    breaks: false,
                    through: true,
                }
            }
            Flow::Sequence(steps) => self.sequence(steps),
            Flow::Either(steps) | Flow::Conditional(steps) => self.one_of("Either", steps),
            Flow::Together(steps) => self.one_of("Join", steps),
            Flow::Covered(number, inner) => {
                let inner = self.write(inner);
                match self.price(*number) {
                    Some(price) => {
                        let (breaks, through) = (inner.breaks, inner.through);
                        Written {
                            tokens: if breaks || !through {
                                let tokens = self.tokens(inner);
                                self.step("Around", &quote!(&#price, &#tokens))
                            } else {
                                price
                            },
                            priced: true,
                            breaks,
                            through,
                        }
                    }
                    None => inner,
                }
            }
            Flow::Loop { body, ends } => {
                let body = self.write(body);
                let through = *ends || body.breaks;
                if !body.priced && through {
                    return self.sequence(&[]);
                }
                Written {
                    breaks: false,
                    ..self.around(if *ends { "Loop" } else { "Forever" }, body, through)
                }
            }
            Flow::Return(value) => self.around("Return", self.write(value), false),
            Flow::Leave(value) => Written {
                breaks: true,
                ..self.around("Break", self.write(value), false)
            },
        }
    }

    fn sequence(&self, steps: &[Flow]) -> Written {
        let steps: Vec<Written> = steps
            .iter()
            .filter(|step| !matches!(step, Flow::Nothing))
            .map(|step| self.write(step))
            .filter(|step| !step.is_nothing())
            .collect();
        let through = steps.iter().all(|step| step.through);
        self.several("Then", steps, through)
    }

    fn one_of(&self, name: &str, steps: &[Flow]) -> Written {
        let mut steps: Vec<Written> = steps.iter().map(|step| self.write(step)).collect();
        let through = steps.is_empty() || steps.iter().any(|step| step.through);
        if through {
            // A branch that costs nothing matters only where no other one goes on.
            let mut goes_on = steps.iter().any(|step| step.through && !step.is_nothing());
            steps.retain(|step| {
                !step.is_bare_return()
                    && (!step.is_nothing() || !std::mem::replace(&mut goes_on, true))
            });
        }
        self.several(name, steps, through)
    }

    fn several(&self, name: &str, mut steps: Vec<Written>, through: bool) -> Written {
        let priced = steps.iter().any(|step| step.priced);
        let breaks = steps.iter().any(|step| step.breaks);
        let tokens = match steps.pop() {
            Some(only) if steps.is_empty() => only.tokens,
            None => TokenStream::new(),
            last => {
                steps.extend(last);
                let tokens = steps.into_iter().map(|step| self.tokens(step));
                self.step(name, &quote!(&[#(#tokens),*]))
            }
        };
        Written {
            tokens,
            priced,
            breaks,
            through,
        }
    }

    fn around(&self, name: &str, inner: Written, through: bool) -> Written {
        let (priced, breaks) = (inner.priced, inner.breaks);
        let tokens = self.tokens(inner);
        Written {
            tokens: self.step(name, &quote!(&#tokens)),
            priced,
            breaks,
            through,
        }
    }

    /// A body is mostly of steps that take no time: these are put into words only where one is needed.
    fn tokens(&self, written: Written) -> TokenStream {
        if written.tokens.is_empty() {
            self.step("Then", &quote!(&[]))
        } else {
            written.tokens
        }
    }

    /// What the statement attribute with this number says; a shield says nothing.
    fn price(&self, number: usize) -> Option<TokenStream> {
        let placed = self.statements.get(number)?;
        let Statement::Budget(budget) = &placed.statement else {
            return None;
        };
        let covered = self.calls.covered.get(number)?;
        let name = spec::literal(&covered.name, self.span);
        let once = match (covered.constant, &budget.amount.value) {
            (Some(call), _) => {
                let call = Literal::usize_unsuffixed(call);
                self.step("Call", &quote!(#call, #name))
            }
            (None, amount) => {
                let kind = match amount {
                    Amount::Percent(_) => "Share",
                    _ => "Budget",
                };
                let amount = spec::millis(&budget.amount, self.runtime, self.span);
                self.step(kind, &quote!(#amount, #name))
            }
        };
        Some(match &budget.times {
            Some(times) => {
                let times = Literal::u64_unsuffixed(times.value);
                self.step("Times", &quote!(#times, &#once))
            }
            None => once,
        })
    }

    fn step(&self, name: &str, arguments: &TokenStream) -> TokenStream {
        let private = self.private;
        let name = Ident::new(name, self.span);
        quote_spanned!(self.span=> #private::Step::#name(#arguments))
    }
}
