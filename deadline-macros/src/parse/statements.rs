//! Finds the attributes inside a body, and what each of them covers.
//!
//! Every attribute is taken out of the tree; where one was valid, a mark with its number stays behind, so that the
//! later stages need not read it again.

use super::statement::{self, Kind, Statement, name_span};
use super::strays::{Exits, Strays};
use crate::faults::Faults;
use crate::syntax::{self, Known, attrs_mut, has_statement_attributes, mentions};
use proc_macro2::{Literal, Span};
use quote::ToTokens as _;
use syn::visit::Visit as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, ExprAsync, ExprAwait, ExprBinary, ExprClosure, ExprConst, ExprLit,
    Item, Lit, Local, Macro, Meta, Pat, StmtMacro, Type, parse_quote,
};

/// An attribute and the place it was found at.
pub(crate) struct Placed {
    pub(crate) statement: Statement,
    /// The attribute's name.
    pub(crate) span: Span,
    pub(crate) on_a_loop: bool,
    /// How many awaits it covers.
    pub(crate) awaits: usize,
    /// The attributes around it, outermost first.
    pub(crate) within: Vec<usize>,
    /// Awaits whose future contains another await; a shield cannot serve those.
    pub(crate) nested_awaits: Vec<Span>,
    /// The operator whose right side it leaves out, although something is awaited there.
    pub(crate) cut_off: Option<String>,
}

/// Takes our attributes out of a body.
pub(crate) fn collect(body: &mut Block, faults: &mut Faults) -> Vec<Placed> {
    let mut collector = Collector {
        placed: Vec::new(),
        open: Vec::new(),
        awaits: 0,
        faults,
    };
    collector.visit_block_mut(body);
    collector.placed
}

const MARK: &str = "__deadline_statement";

/// The number that a valid attribute left behind.
pub(crate) fn mark(attr: &Attribute) -> Option<usize> {
    match &attr.meta {
        Meta::NameValue(mark) if mark.path.is_ident(MARK) => match &mark.value {
            Expr::Lit(ExprLit {
                lit: Lit::Int(number),
                ..
            }) => number.base10_parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The number of the attribute in front of an expression, which may be that of its first operand alone.
fn first_mark(expr: &Expr) -> Option<usize> {
    let first = match expr {
        Expr::Binary(expr) => first_mark(&expr.left),
        Expr::Cast(expr) => first_mark(&expr.expr),
        _ => None,
    };
    first.or_else(|| syntax::attrs(expr).iter().find_map(mark))
}

struct Collector<'a> {
    placed: Vec<Placed>,
    open: Vec<usize>,
    awaits: usize,
    faults: &'a mut Faults,
}

impl Collector<'_> {
    /// Replaces our attributes by marks and returns the numbers of those that cover something.
    fn take(&mut self, attrs: &mut Vec<Attribute>, on_a_loop: bool) -> Vec<usize> {
        let mut opened = Vec::new();
        attrs.retain_mut(|attr| {
            if attr.path().is_ident("cfg_attr") {
                self.report_hidden(attr);
            }
            let Some(kind) = Kind::of(attr) else {
                return true;
            };
            let Some(statement) = statement::parse(kind, attr, self.faults) else {
                return false;
            };
            let number = self.placed.len();
            self.placed.push(Placed {
                statement,
                span: name_span(attr),
                on_a_loop,
                awaits: 0,
                within: [&*self.open, &*opened].concat(),
                nested_awaits: Vec::new(),
                cut_off: None,
            });
            opened.push(number);
            let name = proc_macro2::Ident::new(MARK, Span::call_site());
            let number = Literal::usize_unsuffixed(number);
            *attr = parse_quote!(#[#name = #number]);
            true
        });
        opened
    }

    fn report_hidden(&mut self, attr: &Attribute) {
        let Meta::List(list) = &attr.meta else { return };
        if mentions(list.tokens.clone(), &|word| {
            matches!(word, "budget" | "shield" | "checkpoint")
        }) {
            self.faults.at(name_span(attr), "`cfg_attr` hides this from `#[deadline]`: write the statement twice, each under its own `#[cfg(…)]`");
        }
    }

    fn covering(&mut self, opened: Vec<usize>, visit: impl FnOnce(&mut Self)) {
        let before = self.awaits;
        let depth = self.open.len();
        self.open.extend(&opened);
        visit(self);
        self.open.truncate(depth);
        for number in opened {
            self.placed[number].awaits = self.awaits - before;
        }
    }

    fn covers_by_a_figure(&self) -> bool {
        self.open
            .iter()
            .any(|number| !matches!(self.placed[*number].statement, Statement::NoCheckpoint))
    }

    fn innermost(&mut self) -> Option<&mut Placed> {
        self.open
            .last()
            .and_then(|number| self.placed.get_mut(*number))
    }

    fn macro_arguments(&mut self, mac: &mut Macro) {
        let joins = syntax::known(mac) == Known::Joins;
        if joins {
            self.awaits += 1;
        }
        match syntax::Arguments::read(mac) {
            Some(mut arguments) => {
                if joins && self.covers_by_a_figure() {
                    arguments
                        .iter()
                        .for_each(|argument| Exits(self.faults).visit_expr(argument));
                }
                arguments
                    .iter_mut()
                    .for_each(|argument| self.visit_expr_mut(argument));
                mac.tokens = arguments.into_tokens();
            }
            None if has_statement_attributes(mac.tokens.clone()) => {
                let span = mac
                    .path
                    .segments
                    .last()
                    .map_or_else(Span::call_site, |segment| segment.ident.span());
                let name = mac
                    .path
                    .segments
                    .last()
                    .map_or_else(String::new, |segment| segment.ident.to_string());
                self.faults.at(span, format!("`#[deadline]` does not look into `{name}!`: give the branch a function of its own with `#[deadline(budget = …)]`"));
                mac.tokens = syntax::without_our_attributes(mac.tokens.clone());
            }
            None => {}
        }
    }
}

impl VisitMut for Collector<'_> {
    fn visit_local_mut(&mut self, local: &mut Local) {
        let opened = self.take(&mut local.attrs, false);
        self.covering(opened, |collector| {
            visit_mut::visit_local_mut(collector, local);
        });
    }

    fn visit_stmt_macro_mut(&mut self, stmt: &mut StmtMacro) {
        let opened = self.take(&mut stmt.attrs, false);
        self.covering(opened, |collector| collector.macro_arguments(&mut stmt.mac));
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let on_a_loop = matches!(expr, Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_));
        let opened = match attrs_mut(expr) {
            Some(attrs) if !attrs.is_empty() => self.take(attrs, on_a_loop),
            _ => Vec::new(),
        };
        if opened.is_empty() {
            visit_mut::visit_expr_mut(self, expr);
        } else {
            self.covering(opened, |collector| {
                visit_mut::visit_expr_mut(collector, expr);
            });
        }
    }

    fn visit_expr_binary_mut(&mut self, expr: &mut ExprBinary) {
        self.visit_expr_mut(&mut expr.left);
        let before = self.awaits;
        self.visit_expr_mut(&mut expr.right);
        // Where both sides have an attribute of their own, the user knows what each of them covers.
        if self.awaits > before && first_mark(&expr.right).is_none() {
            let operator = expr.op.to_token_stream().to_string();
            if let Some(placed) = first_mark(&expr.left).and_then(|at| self.placed.get_mut(at)) {
                placed.cut_off = Some(operator);
            }
        }
    }

    fn visit_expr_await_mut(&mut self, expr: &mut ExprAwait) {
        let before = self.awaits;
        self.visit_expr_mut(&mut expr.base);
        if self.awaits > before {
            let span = expr.await_token.span;
            if let Some(placed) = self.innermost() {
                placed.nested_awaits.push(span);
            }
        }
        self.awaits += 1;
    }

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        self.macro_arguments(mac);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        Strays {
            place: "a closure",
            faults: self.faults,
        }
        .visit_expr_mut(&mut closure.body);
    }

    fn visit_expr_async_mut(&mut self, block: &mut ExprAsync) {
        Strays {
            place: "an async block",
            faults: self.faults,
        }
        .visit_block_mut(&mut block.block);
    }

    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
    fn visit_item_mut(&mut self, _: &mut Item) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        if let Some(guard) = syntax::guard_mut(pat) {
            self.visit_expr_mut(guard);
        }
    }
}
