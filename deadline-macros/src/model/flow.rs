//! The order in which a body may spend its time.
//!
//! A tree of what runs after what, what instead of what, and how often. The sums of the checks walk it.

use super::calls;
use crate::parse::statements::{Placed, mark};
use crate::syntax::{self, Known};
use syn::{Arm, Attribute, Block, Expr, ExprBlock, Local, Macro, Pat, Stmt};

/// One step of a body.
pub(crate) enum Flow {
    /// Takes no time that we know of.
    Nothing,
    /// The awaited call with this number.
    Call(usize),
    /// One after the other.
    Sequence(Vec<Flow>),
    /// One of them.
    Either(Vec<Flow>),
    /// All of them at the same time.
    Together(Vec<Flow>),
    /// At most one of them: statements under `#[cfg]`.
    Conditional(Vec<Flow>),
    /// Inside the statement attribute with this number.
    Covered(usize, Box<Flow>),
    /// Counted once; `ends` when it can end by itself.
    Loop { body: Box<Flow>, ends: bool },
    /// `return`, after what its value took.
    Return(Box<Flow>),
    /// `break` and `continue`.
    Leave(Box<Flow>),
}

/// Reads a body whose attributes have been replaced by marks.
pub(crate) fn of(body: &Block, statements: &[Placed]) -> Flow {
    Reader { statements }.block(body)
}

struct Reader<'a> {
    statements: &'a [Placed],
}

impl Reader<'_> {
    fn block(&self, block: &Block) -> Flow {
        let mut steps = Vec::new();
        let mut conditional = Vec::new();
        for stmt in &block.stmts {
            let (attrs, flow) = match stmt {
                Stmt::Local(local) => {
                    (&*local.attrs, self.covered(&local.attrs, self.local(local)))
                }
                Stmt::Expr(expr, _) => (syntax::attrs(expr), self.expr(expr)),
                Stmt::Macro(stmt) => (&*stmt.attrs, self.covered(&stmt.attrs, self.mac(&stmt.mac))),
                Stmt::Item(_) => continue,
            };
            if attrs.iter().any(|attr| attr.path().is_ident("cfg")) {
                conditional.push(flow);
            } else {
                steps.push(flow);
            }
        }
        if !conditional.is_empty() {
            steps.insert(0, Flow::Conditional(conditional));
        }
        Flow::Sequence(steps)
    }

    fn local(&self, local: &Local) -> Flow {
        let Some(init) = &local.init else {
            return Flow::Nothing;
        };
        let value = self.expr(&init.expr);
        match &init.diverge {
            Some((_, diverge)) => Flow::Sequence(vec![
                value,
                Flow::Either(vec![Flow::Nothing, self.expr(diverge)]),
            ]),
            None => value,
        }
    }

    fn expr(&self, expr: &Expr) -> Flow {
        if let Some((number, future)) = calls::numbered(expr) {
            return Flow::Sequence(vec![self.expr(future), Flow::Call(number)]);
        }
        let flow = match expr {
            Expr::Block(expr) => self.labelled(expr),
            Expr::Unsafe(expr) => self.block(&expr.block),
            Expr::If(expr) => {
                let other = expr
                    .else_branch
                    .as_ref()
                    .map_or(Flow::Nothing, |(_, other)| self.expr(other));
                Flow::Sequence(vec![
                    self.expr(&expr.cond),
                    Flow::Either(vec![self.block(&expr.then_branch), other]),
                ])
            }
            Expr::Match(expr) => Flow::Sequence(vec![self.expr(&expr.expr), self.arms(&expr.arms)]),
            Expr::ForLoop(expr) => Flow::Sequence(vec![
                self.expr(&expr.expr),
                repeated(self.block(&expr.body), true),
            ]),
            Expr::While(expr) => {
                let body = Flow::Sequence(vec![self.expr(&expr.cond), self.block(&expr.body)]);
                repeated(body, true)
            }
            Expr::Loop(expr) => repeated(self.block(&expr.body), false),
            Expr::Return(expr) => Flow::Return(Box::new(self.optional(expr.expr.as_deref()))),
            Expr::Break(expr) => Flow::Leave(Box::new(self.optional(expr.expr.as_deref()))),
            Expr::Continue(_) => Flow::Leave(Box::new(Flow::Nothing)),
            Expr::Macro(expr) => self.mac(&expr.mac),
            Expr::Await(expr) => self.expr(&expr.base),
            Expr::Try(expr) => self.expr(&expr.expr),
            Expr::Paren(expr) => self.expr(&expr.expr),
            Expr::Group(expr) => self.expr(&expr.expr),
            Expr::Reference(expr) => self.expr(&expr.expr),
            Expr::RawAddr(expr) => self.expr(&expr.expr),
            Expr::Unary(expr) => self.expr(&expr.expr),
            Expr::Cast(expr) => self.expr(&expr.expr),
            Expr::Field(expr) => self.expr(&expr.base),
            Expr::Let(expr) => self.expr(&expr.expr),
            Expr::Assign(expr) => self.sequence([&*expr.right, &*expr.left]),
            Expr::Binary(expr) => self.sequence([&*expr.left, &*expr.right]),
            Expr::Index(expr) => self.sequence([&*expr.expr, &*expr.index]),
            Expr::Repeat(expr) => self.expr(&expr.expr),
            Expr::Range(expr) => {
                self.sequence(expr.start.as_deref().into_iter().chain(expr.end.as_deref()))
            }
            Expr::Call(expr) => self.sequence(std::iter::once(&*expr.func).chain(&expr.args)),
            Expr::MethodCall(expr) => {
                self.sequence(std::iter::once(&*expr.receiver).chain(&expr.args))
            }
            Expr::Array(expr) => self.sequence(&expr.elems),
            Expr::Tuple(expr) => self.sequence(&expr.elems),
            Expr::Struct(expr) => self.sequence(
                expr.fields
                    .iter()
                    .map(|field| &field.expr)
                    .chain(expr.rest.as_deref()),
            ),
            // Closures and async blocks run elsewhere; whatever else there is takes no time that we know of.
            _ => Flow::Nothing,
        };
        self.covered(syntax::attrs(expr), flow)
    }

    /// Behind a guard comes its arm, or any of those below.
    fn arms(&self, arms: &[Arm]) -> Flow {
        let mut below = Vec::new();
        for arm in arms.iter().rev() {
            below.push(self.expr(&arm.body));
            if let Pat::Guard(pat) = &arm.pat {
                let guard = self.expr(&pat.guard);
                if !matches!(guard, Flow::Nothing) {
                    below.reverse();
                    below = vec![Flow::Sequence(vec![guard, Flow::Either(below)])];
                }
            }
        }
        below.reverse();
        Flow::Either(below)
    }

    /// A `break 'label` inside leaves the block, as it would a loop that runs once.
    fn labelled(&self, expr: &ExprBlock) -> Flow {
        let body = self.block(&expr.block);
        match expr.label {
            Some(_) => repeated(body, true),
            None => body,
        }
    }

    fn mac(&self, mac: &Macro) -> Flow {
        let steps = || {
            syntax::Arguments::read(mac).map_or_else(Vec::new, |arguments| {
                arguments
                    .iter()
                    .map(|argument| self.expr(argument))
                    .collect()
            })
        };
        match syntax::known(mac) {
            Known::Joins => Flow::Together(steps()),
            Known::Expressions => Flow::Sequence(steps()),
            Known::Diverges => Flow::Return(Box::new(Flow::Sequence(steps()))),
            Known::Unknown => Flow::Nothing,
        }
    }

    fn covered(&self, attrs: &[Attribute], flow: Flow) -> Flow {
        attrs
            .iter()
            .filter_map(|attr| self.placed(attr))
            .fold(flow, |flow, (number, _)| {
                Flow::Covered(number, Box::new(flow))
            })
    }

    fn placed(&self, attr: &Attribute) -> Option<(usize, &Placed)> {
        let number = mark(attr)?;
        Some((number, self.statements.get(number)?))
    }

    fn optional(&self, expr: Option<&Expr>) -> Flow {
        expr.map_or(Flow::Nothing, |expr| self.expr(expr))
    }

    fn sequence<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Flow {
        Flow::Sequence(exprs.into_iter().map(|expr| self.expr(expr)).collect())
    }
}

fn repeated(body: Flow, ends: bool) -> Flow {
    Flow::Loop {
        body: Box::new(body),
        ends,
    }
}
