//! The calls of a body that count against its budget.
//!
//! Each one is given a number, which stays in the tree around its future, so that the stages after this one agree
//! about it however they walk.

use super::names::{self, first_called_in_expr};
use crate::parse::amount::Amount;
use crate::parse::statement::{Kind, Statement};
use crate::parse::statements::{Placed, mark};
use crate::syntax::{self, Arguments, Known};
use proc_macro2::{Ident, Span, TokenStream};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, Attribute, Block, Expr, ExprAsync, ExprAwait, ExprCall, ExprClosure, ExprConst, ExprLit,
    ExprPath, FieldValue, Item, Lit, LitInt, Local, Macro, Meta, Pat, Stmt, Type, token,
};

/// One awaited call.
pub(crate) struct Call {
    /// What a message calls it.
    pub(crate) name: String,
    /// The conditions of the `#[cfg]`s around it.
    pub(crate) conditions: Vec<TokenStream>,
}

/// What was found in a body.
pub(crate) struct Calls {
    pub(crate) all: Vec<Call>,
    /// What is under the statement attributes, by their numbers.
    pub(crate) covered: Vec<Covered>,
}

/// What a statement attribute is on.
#[derive(Clone, Default)]
pub(crate) struct Covered {
    pub(crate) name: String,
    /// The number among the calls of one whose figure is a constant: only the body knows what its path means.
    pub(crate) constant: Option<usize>,
}

const MARK: &str = "__deadline_call";

// Input:   EXPR.await
// Output:  __deadline_call(0, EXPR).await
//
// A call and not an attribute, because the arguments of macros are printed and read again.
pub(crate) fn number(body: &mut Block, itself: &Ident, statements: &[Placed]) -> Calls {
    let mut numbers = Numbers {
        itself,
        statements,
        found: Calls {
            all: Vec::new(),
            covered: vec![Covered::default(); statements.len()],
        },
        conditions: Vec::new(),
    };
    numbers.visit_block_mut(body);
    numbers.found
}

/// Puts the number around a future. Nothing of it is left in the expansion.
fn marked(future: &mut Expr, number: usize) {
    let span = Span::mixed_site();
    let number = LitInt::new(&number.to_string(), span);
    let number = Expr::Lit(ExprLit {
        attrs: Vec::new(),
        lit: Lit::Int(number),
    });
    let base = std::mem::replace(future, Expr::Verbatim(TokenStream::new()));
    *future = Expr::Call(ExprCall {
        attrs: Vec::new(),
        func: Box::new(Expr::Path(ExprPath {
            attrs: Vec::new(),
            qself: None,
            path: Ident::new(MARK, span).into(),
        })),
        paren_token: token::Paren(span),
        args: [number, base].into_iter().collect(),
    });
}

/// The number of a call, and its future as written.
pub(crate) fn numbered(expr: &Expr) -> Option<(usize, &Expr)> {
    let Expr::Call(ExprCall { func, args, .. }) = expr else {
        return None;
    };
    let Expr::Path(path) = &**func else {
        return None;
    };
    if !path.path.is_ident(MARK) {
        return None;
    }
    let Some(Expr::Lit(ExprLit {
        lit: Lit::Int(number),
        ..
    })) = args.first()
    else {
        return None;
    };
    Some((number.base10_parse().ok()?, args.get(1)?))
}

/// Takes the number off.
pub(crate) fn take_number(expr: &mut Expr) -> Option<usize> {
    let (number, _) = numbered(expr)?;
    if let Expr::Call(call) = expr
        && let Some(future) = call.args.pop()
    {
        *expr = future;
    }
    Some(number)
}

struct Numbers<'a> {
    itself: &'a Ident,
    statements: &'a [Placed],
    found: Calls,
    conditions: Vec<TokenStream>,
}

impl Numbers<'_> {
    fn give(&mut self, future: &mut Expr) {
        let inner = unwrapped(future);
        if self.is_itself(inner) {
            return;
        }
        let name = names::called(inner);
        let number = self.found.all.len();
        self.found.all.push(Call {
            name: if name.is_empty() {
                "await".to_owned()
            } else {
                name
            },
            conditions: self.conditions.clone(),
        });
        marked(future, number);
    }

    /// `f()`, `Self::f()`, `self.f()`: a call to the function itself would have to fit into itself.
    fn is_itself(&self, future: &Expr) -> bool {
        match future {
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) => {
                    let mut segments = path.path.segments.iter().rev();
                    let last = segments
                        .next()
                        .is_some_and(|last| last.ident == *self.itself);
                    let first = segments.next();
                    last && segments.next().is_none()
                        && first.is_none_or(|first| first.ident == "Self")
                }
                _ => false,
            },
            Expr::MethodCall(call) => {
                call.method == *self.itself
                    && matches!(&*call.receiver, Expr::Path(path)
                        if path.path.is_ident("self") || path.path.is_ident("__self"))
            }
            _ => false,
        }
    }

    /// Not inside what has a figure of its own, nor where it cannot be said whether it is there.
    fn under(
        &mut self,
        attrs: &[Attribute],
        name: impl FnOnce() -> String,
        visit: impl FnOnce(&mut Self),
    ) {
        let covering = |number: &usize| {
            self.statements.get(*number).is_some_and(|placed| {
                matches!(
                    placed.statement,
                    Statement::Budget(_) | Statement::Shield(_)
                )
            })
        };
        if let Some(number) = attrs.iter().filter_map(mark).find(covering) {
            self.cover(number, name(), attrs);
            return;
        }
        let hidden = attrs.iter().any(|attr| {
            attr.path().is_ident("cfg_attr")
                && matches!(&attr.meta, Meta::List(list)
                    if syntax::mentions(list.tokens.clone(), &|word| word == "cfg"))
        });
        if hidden {
            return;
        }
        let before = self.conditions.len();
        self.conditions.extend(conditions(attrs));
        visit(self);
        self.conditions.truncate(before);
    }

    fn cover(&mut self, number: usize, name: String, attrs: &[Attribute]) {
        let mut constant = None;
        if let Some(Statement::Budget(budget)) =
            self.statements.get(number).map(|placed| &placed.statement)
            && let Amount::Path(_) = budget.amount.value
        {
            constant = Some(self.found.all.len());
            let conditions = self.conditions.iter().cloned().chain(conditions(attrs));
            self.found.all.push(Call {
                name: name.clone(),
                conditions: conditions.collect(),
            });
        }
        self.found.covered[number] = Covered { name, constant };
    }
}

impl VisitMut for Numbers<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let attrs = syntax::attrs(expr);
        if attrs.is_empty() {
            return visit_mut::visit_expr_mut(self, expr);
        }
        let (attrs, name) = (attrs.to_vec(), first_called_in_expr(expr));
        self.under(
            &attrs,
            || name,
            |numbers| visit_mut::visit_expr_mut(numbers, expr),
        );
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Macro(stmt) => {
                let (attrs, mac) = (&stmt.attrs, &mut stmt.mac);
                let name = mac
                    .path
                    .segments
                    .last()
                    .map_or_else(String::new, |last| format!("{}!", last.ident));
                self.under(attrs, || name, |numbers| numbers.visit_macro_mut(mac));
            }
            stmt => visit_mut::visit_stmt_mut(self, stmt),
        }
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        let Some(init) = &mut local.init else { return };
        if local.attrs.is_empty() {
            return visit_mut::visit_local_init_mut(self, init);
        }
        let name = first_called_in_expr(&init.expr);
        self.under(
            &local.attrs,
            || name,
            |numbers| {
                visit_mut::visit_local_init_mut(numbers, init);
            },
        );
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        let attrs = std::mem::take(&mut arm.attrs);
        self.under(&attrs, String::new, |numbers| {
            visit_mut::visit_arm_mut(numbers, arm);
        });
        arm.attrs = attrs;
    }

    fn visit_field_value_mut(&mut self, field: &mut FieldValue) {
        let attrs = std::mem::take(&mut field.attrs);
        self.under(&attrs, String::new, |numbers| {
            visit_mut::visit_field_value_mut(numbers, field);
        });
        field.attrs = attrs;
    }

    fn visit_expr_await_mut(&mut self, awaited: &mut ExprAwait) {
        self.visit_expr_mut(&mut awaited.base);
        self.give(&mut awaited.base);
    }

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        let joins = syntax::known(mac) == Known::Joins;
        if let Some(mut arguments) = Arguments::read(mac) {
            let whole = arguments.are_all();
            for argument in arguments.iter_mut() {
                self.visit_expr_mut(argument);
                if joins && whole && !has_ours(argument) {
                    self.give(argument);
                }
            }
            mac.tokens = arguments.into_tokens();
        }
    }

    fn visit_expr_closure_mut(&mut self, _: &mut ExprClosure) {}
    fn visit_expr_async_mut(&mut self, _: &mut ExprAsync) {}
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
    fn visit_item_mut(&mut self, _: &mut Item) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        if let Some(guard) = syntax::guard_mut(pat) {
            self.visit_expr_mut(guard);
        }
    }
}

fn conditions(attrs: &[Attribute]) -> impl Iterator<Item = TokenStream> {
    attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::List(list) if list.path.is_ident("cfg") => Some(list.tokens.clone()),
        _ => None,
    })
}

/// Whether one of our attributes is on it.
fn has_ours(expr: &Expr) -> bool {
    syntax::attrs(expr)
        .iter()
        .any(|attr| mark(attr).is_some() || Kind::of(attr).is_some())
}

/// The call in `Box::pin(f())`, `&mut f()`, `(f())`: what holds a future declares what the future does.
fn unwrapped(future: &Expr) -> &Expr {
    match future {
        Expr::Paren(inner) => unwrapped(&inner.expr),
        Expr::Group(inner) => unwrapped(&inner.expr),
        Expr::Reference(inner) => unwrapped(&inner.expr),
        Expr::Call(call) if call.args.len() == 1 && is_pin(&call.func) => unwrapped(&call.args[0]),
        _ => future,
    }
}

/// `Box::pin`, `Pin::new`, `Box::new`.
fn is_pin(func: &Expr) -> bool {
    let Expr::Path(path) = func else {
        return false;
    };
    let mut segments = path.path.segments.iter().rev();
    matches!((segments.next(), segments.next()), (Some(last), Some(ty))
        if (ty.ident == "Box" && (last.ident == "pin" || last.ident == "new"))
            || (ty.ident == "Pin" && last.ident == "new"))
}
