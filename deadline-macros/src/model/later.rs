//! Which variables of a body may have a type that is found only behind an await.
//!
//! `let mut next = None;` is one: what it holds is decided where it is filled. The tokens cannot say more than that it
//! might be so; what is not certain counts as found later, which is always right and costs a little more.

use crate::syntax;
use quote::ToTokens as _;
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{
    Arm, Block, Expr, ExprClosure, ExprForLoop, ExprLet, ExprMatch, Item, Local, Pat, PatIdent,
    Stmt, Type,
};

/// Variables by name. One that shadows another makes both of them such.
pub(crate) struct Later(HashSet<String>);

impl Later {
    pub(crate) fn in_body(body: &Block) -> Self {
        let mut later = Later(HashSet::new());
        later.visit_block(body);
        later
    }

    /// Whether the type of this expression may be found later. A call by itself is not enough: its future is gone
    /// after the await, so that nothing behind it can decide about its type.
    pub(crate) fn concerns(&self, expr: &Expr) -> bool {
        !self.0.is_empty()
            && syntax::mentions(expr.to_token_stream(), &|word| self.0.contains(word))
    }

    fn bind(&mut self, pattern: &Pat) {
        let mut names = Names(&mut self.0);
        names.visit_pat(pattern);
    }

    /// Whether the type is known behind the expression itself.
    fn is_known(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Await(_) | Expr::Lit(_) | Expr::Binary(_) | Expr::Cast(_) | Expr::Struct(_) => {
                true
            }
            Expr::Path(path) => !path.path.is_ident("None") && !self.concerns(expr),
            Expr::Try(inner) => self.is_known(&inner.expr),
            Expr::Paren(inner) => self.is_known(&inner.expr),
            Expr::Group(inner) => self.is_known(&inner.expr),
            Expr::Reference(inner) => self.is_known(&inner.expr),
            Expr::Unary(inner) => self.is_known(&inner.expr),
            Expr::Field(inner) => self.is_known(&inner.base),
            Expr::Tuple(tuple) => tuple.elems.iter().all(|part| self.is_known(part)),
            Expr::Range(range) => [&range.start, &range.end]
                .into_iter()
                .flatten()
                .all(|end| self.is_known(end)),
            Expr::Block(block) => self.ends_known(&block.block),
            // One that is known decides for all of them.
            Expr::Match(of) => of.arms.iter().any(|arm| self.is_known(&arm.body)),
            Expr::If(of) => {
                self.ends_known(&of.then_branch)
                    || of
                        .else_branch
                        .as_ref()
                        .is_some_and(|(_, other)| self.is_known(other))
            }
            _ => false,
        }
    }

    fn ends_known(&self, block: &Block) -> bool {
        matches!(block.stmts.last(), Some(Stmt::Expr(tail, None)) if self.is_known(tail))
    }
}

impl Visit<'_> for Later {
    fn visit_local(&mut self, local: &Local) {
        visit::visit_local(self, local);
        let known = match &local.pat {
            Pat::Type(typed) => !is_inferred(&typed.ty),
            _ => local
                .init
                .as_ref()
                .is_some_and(|init| self.is_known(&init.expr)),
        };
        if !known {
            self.bind(&local.pat);
        }
    }

    fn visit_expr_let(&mut self, binding: &ExprLet) {
        visit::visit_expr_let(self, binding);
        if !self.is_known(&binding.expr) {
            self.bind(&binding.pat);
        }
    }

    fn visit_expr_match(&mut self, of: &ExprMatch) {
        self.visit_expr(&of.expr);
        if !self.is_known(&of.expr) {
            of.arms.iter().for_each(|arm| self.bind(&arm.pat));
        }
        of.arms.iter().for_each(|arm: &Arm| self.visit_arm(arm));
    }

    fn visit_expr_for_loop(&mut self, of: &ExprForLoop) {
        if !self.is_known(&of.expr) {
            self.bind(&of.pat);
        }
        visit::visit_expr_for_loop(self, of);
    }

    fn visit_expr_closure(&mut self, _: &ExprClosure) {}
    fn visit_item(&mut self, _: &Item) {}
}

fn is_inferred(ty: &Type) -> bool {
    syntax::mentions(ty.to_token_stream(), &|word| word == "_")
}

struct Names<'a>(&'a mut HashSet<String>);

impl Visit<'_> for Names<'_> {
    fn visit_pat_ident(&mut self, name: &PatIdent) {
        self.0.insert(name.ident.to_string());
        visit::visit_pat_ident(self, name);
    }
}
