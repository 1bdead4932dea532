//! What the statements and calls of a body are called, in traces and in messages.

use super::calls;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprAsync, ExprAwait, ExprClosure, Item};

/// `orders.recent` for `orders.recent(user)`: what a trace calls the statement.
pub(crate) fn called(future: &Expr) -> String {
    if let Some((_, future)) = calls::numbered(future) {
        return called(future);
    }
    match future {
        Expr::Call(call) => called(&call.func),
        Expr::MethodCall(call) => match called(&call.receiver) {
            receiver if receiver.is_empty() => call.method.to_string(),
            receiver => format!("{receiver}.{}", call.method),
        },
        Expr::Path(path) => {
            let segments: Vec<String> = path
                .path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            segments.join("::")
        }
        Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => format!("{}.{name}", called(&field.base)),
            syn::Member::Unnamed(index) => format!("{}.{}", called(&field.base), index.index),
        },
        Expr::Macro(mac) => mac
            .mac
            .path
            .segments
            .last()
            .map_or_else(String::new, |last| format!("{}!", last.ident)),
        Expr::Try(inner) => called(&inner.expr),
        Expr::Await(inner) => called(&inner.base),
        Expr::Paren(inner) => called(&inner.expr),
        Expr::Group(inner) => called(&inner.expr),
        Expr::Reference(inner) => called(&inner.expr),
        _ => String::new(),
    }
}

pub(crate) fn first_called_in(body: &Block) -> String {
    let mut first = First::default();
    first.visit_block(body);
    first.name()
}

pub(crate) fn first_called_in_expr(expr: &Expr) -> String {
    let mut first = First::default();
    first.visit_expr(expr);
    first.name()
}

/// The first await of a statement gives it its name.
#[derive(Default)]
struct First(Option<String>);

impl First {
    fn name(self) -> String {
        self.0
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "await".to_owned())
    }
}

impl Visit<'_> for First {
    fn visit_expr(&mut self, expr: &Expr) {
        if self.0.is_none() {
            visit::visit_expr(self, expr);
        }
    }

    fn visit_expr_await(&mut self, awaited: &ExprAwait) {
        self.0 = Some(called(&awaited.base));
    }

    fn visit_macro(&mut self, mac: &syn::Macro) {
        if let Some(last) = mac.path.segments.last() {
            self.0.get_or_insert_with(|| format!("{}!", last.ident));
        }
    }

    fn visit_expr_closure(&mut self, _: &ExprClosure) {}
    fn visit_expr_async(&mut self, _: &ExprAsync) {}
    fn visit_item(&mut self, _: &Item) {}
}
