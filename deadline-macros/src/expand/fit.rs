//! That the calls of a body fit its budget, for the compiler to check.

use super::spec;
use crate::model::Scope;
use crate::model::calls::{self, Call, Calls};
use crate::model::flow::{self, Flow};
use crate::model::shape::{self, Shape};
use crate::parse::Given;
use crate::parse::amount::Amount;
use crate::parse::statement::Statement;
use crate::parse::statements::Placed;
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{Block, Expr, GenericParam, ItemFn, Signature, Type};

/// Longer tuples are put into tuples, and these into a closure: rustc shows the type under the message.
const LONGEST_TUPLE: usize = 8;

/// The check of one function.
pub(super) struct Fit {
    calls: Calls,
    /// The control flow, as the runtime reads it.
    step: String,
    /// What the statements with a budget of their own take at most.
    statements: u64,
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
            calls: &calls,
            statements,
        };
        let step = Writer::text(writer.write(&flow::of(body, statements)));
        Some(Fit {
            statements: at_most(&calls, statements),
            calls,
            step,
        })
    }

    /// The call that stands for the constant in this `#[budget]`.
    pub(super) fn constant(&self, number: usize) -> Option<usize> {
        self.calls.covered.get(number)?.constant
    }

    // Output:  let call_0 = call(0);
    pub(super) fn slots(&self, scope: &Scope) -> TokenStream {
        let span = scope.place;
        let private = scope.runtime.private(span);
        let slots = self.calls.all.iter().enumerate().map(|(number, call)| {
            let slot = slot(number, span);
            match condition(call) {
                None => quote_spanned!(span=> let #slot = #private::call(0);),
                Some(present) => quote_spanned! {span=>
                    #[cfg(#present)]
                    let #slot = #private::call(0);
                    #[cfg(not(#present))]
                    let #slot = #private::nothing();
                },
            }
        });
        quote!(#(#slots)*)
    }

    // Input:   END
    // Output:  {
    //              {
    //                  struct Calls;
    //                  impl<D: Declares> Fits<D> for Calls {
    //                      const BUDGET: Fit<D> = Limits::of("dashboard", 900).reserve(100).hold("0 load_profile");
    //                  }
    //                  let <Calls as Fits<_>>::BUDGET = calls((call_0,));
    //              }
    //              END
    //          }
    //
    // A block of its own, because the end names types of the user's, and one of those may be called `Calls` too.
    //
    // A constant in a pattern is evaluated by `cargo check`, one in an expression by `cargo build` only. It stands in the
    // argument behind the body, so that the future is not held and moved for it.
    pub(super) fn before(&self, end: &TokenStream, scope: &Scope) -> TokenStream {
        let span = scope.place;
        let private = scope.runtime.private(span);
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
        let statements = (self.statements > 0).then(|| {
            let millis = Literal::u64_unsuffixed(self.statements);
            quote_spanned!(at=> .statements(#millis))
        });
        let hold = hold(spec::literal(&self.step, at), scope);
        let check = quote_spanned! {at=>
            struct Calls;
            impl<D: #constants::Declares> #constants::Fits<D> for Calls {
                const BUDGET: #constants::Fit<D> = #limits #statements.#hold;
            }
        };
        quote_spanned! {span=>
            {
                {
                    #check
                    let <Calls as #private::Fits<_>>::BUDGET = #calls;
                }
                #end
            }
        }
    }
}

/// The variable of the call with this number.
pub(super) fn slot(number: usize, span: Span) -> Ident {
    format_ident!("call_{number}", span = Span::mixed_site().located_at(span))
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

// Output:  hold("0 load_profile")
//
// What rustc underlines reaches from the first of these tokens to the last.
fn hold(step: Literal, scope: &Scope) -> TokenStream {
    let last = match &scope.budget {
        Some(Given {
            value: Amount::Path(path),
            ..
        }) => path.segments.last().map(|last| last.ident.span()),
        _ => None,
    };
    let name = Ident::new("hold", scope.anchor);
    let mut arguments = Group::new(Delimiter::Parenthesis, TokenTree::from(step).into());
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

/// What the statements under `#[budget]` take together at most. As much as can be, where only the compiler knows.
fn at_most(calls: &Calls, statements: &[Placed]) -> u64 {
    let each = statements.iter().zip(&calls.covered);
    each.fold(0_u64, |sum, (placed, covered)| {
        let Statement::Budget(budget) = &placed.statement else {
            return sum;
        };
        let times = budget.times.as_ref().map_or(1, |times| times.value);
        let most = match budget.amount.value {
            Amount::Millis(millis) => millis.saturating_mul(times),
            // It counts as a call.
            Amount::Path(_) if covered.constant.is_some() && times == 1 => 0,
            Amount::Path(_) | Amount::Percent(_) => u64::MAX,
        };
        sum.saturating_add(most)
    })
}

/// A step as text, empty if it takes no time and goes on, and what has to be known about it to leave out what makes no
/// difference.
struct Written {
    text: String,
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
    calls: &'a Calls,
    statements: &'a [Placed],
}

impl Writer<'_> {
    fn write(&self, flow: &Flow) -> Written {
        match flow {
            Flow::Nothing => self.sequence(&[]),
            Flow::Call(number) => {
                let call = self.calls.all.get(*number);
                let name = call.map_or("await", |call| &call.name);
                Written {
                    text: format!("{number} {name}"),
                    priced: true,
                    breaks: false,
                    through: true,
                }
            }
            Flow::Sequence(steps) => self.sequence(steps),
            Flow::Either(steps) | Flow::Conditional(steps) => self.one_of("either", steps),
            Flow::Together(steps) => self.one_of("join", steps),
            Flow::Covered(number, inner) => {
                let inner = self.write(inner);
                match self.price(*number) {
                    Some(price) => {
                        let (breaks, through) = (inner.breaks, inner.through);
                        Written {
                            text: if breaks || !through {
                                format!("within({price}, {})", Self::text(inner))
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
                    ..Self::around(if *ends { "loop" } else { "forever" }, body, through)
                }
            }
            Flow::Return(value) => Self::around("return", self.write(value), false),
            Flow::Leave(value) => Written {
                breaks: true,
                ..Self::around("break", self.write(value), false)
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
        Self::several("then", steps, through)
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
        Self::several(name, steps, through)
    }

    fn several(name: &str, mut steps: Vec<Written>, through: bool) -> Written {
        let priced = steps.iter().any(|step| step.priced);
        let breaks = steps.iter().any(|step| step.breaks);
        let text = match steps.pop() {
            Some(only) if steps.is_empty() => only.text,
            None => String::new(),
            last => {
                steps.extend(last);
                let steps: Vec<String> = steps
                    .into_iter()
                    .map(|step| Self::within(name, Self::text(step)))
                    .collect();
                format!("{name}({})", steps.join(", "))
            }
        };
        Written {
            text,
            priced,
            breaks,
            through,
        }
    }

    /// A list in a list of the same kind is one list: each level of `else if` is one more for whoever reads it, and
    /// rustc evaluates only so many.
    fn within(name: &str, step: String) -> String {
        let listed = step
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('('))
            .and_then(|rest| rest.strip_suffix(')'))
            .filter(|listed| !listed.is_empty());
        match listed {
            Some(listed) => listed.to_owned(),
            None => step,
        }
    }

    fn around(name: &str, inner: Written, through: bool) -> Written {
        let (priced, breaks) = (inner.priced, inner.breaks);
        Written {
            text: format!("{name}({})", Self::text(inner)),
            priced,
            breaks,
            through,
        }
    }

    /// Most of what a body consists of takes no time: it is put into words only where one is needed.
    fn text(written: Written) -> String {
        if written.text.is_empty() {
            "then()".to_owned()
        } else {
            written.text
        }
    }

    /// What the statement attribute with this number says; a shield says nothing.
    fn price(&self, number: usize) -> Option<String> {
        let placed = self.statements.get(number)?;
        let Statement::Budget(budget) = &placed.statement else {
            return None;
        };
        let covered = self.calls.covered.get(number)?;
        let name = &covered.name;
        let once = match (covered.constant, &budget.amount.value) {
            (Some(call), _) => format!("{call} {name}"),
            (None, Amount::Percent(percent)) => format!("{percent}% {name}"),
            (None, Amount::Millis(millis)) => format!("{millis}ms {name}"),
            // Only where nothing is counted at all.
            (None, Amount::Path(_)) => return None,
        };
        Some(match &budget.times {
            Some(times) => format!("{}x({once})", times.value),
            None => once,
        })
    }
}
