//! What kind of function arrived here, after the attribute macros above us have had their turn.

use crate::faults::Faults;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, ExprAsync, ExprCall, ExprClosure, ExprMatch, ExprMethodCall, Item,
    ItemFn, Local, Meta, Pat, ReturnType, Stmt, Type,
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `async fn`, which becomes a plain `fn` that returns the future.
    Returned,
    /// `async fn` that has to stay one.
    Kept,
    /// A plain `fn` whose body builds one async block: what `#[async_trait]` and `#[tokio::test]` leave.
    Block,
}

impl Shape {
    pub(crate) fn of(item: &ItemFn, keep_async: bool, faults: &mut Faults) -> Self {
        if let Some(constness) = &item.sig.constness {
            faults.at(
                constness.span,
                "`#[deadline]` cannot serve a `const fn`: nothing waits when the compiler runs it",
            );
        }
        if let Some(abi) = &item.sig.abi {
            faults.at(abi.extern_token.span, "`#[deadline]` cannot serve an `extern` function: annotate the `async fn` that it calls");
        }
        if item.sig.asyncness.is_some() {
            let kept = keep_async || returns_never(item) || keeps_its_form(item);
            return if kept { Shape::Kept } else { Shape::Returned };
        }
        if item.sig.constness.is_none() && item.sig.abi.is_none() && !builds_one_future(&item.block)
        {
            faults.at(
                item.sig.fn_token.span,
                "`#[deadline]` needs an `async fn`\nwrite `async fn`, or use `#[checkpoint]` for a synchronous function that is called from an annotated one; put `#[deadline]` above an attribute that makes the function synchronous",
            );
        }
        Shape::Block
    }
}

pub(crate) fn returns_never(item: &ItemFn) -> bool {
    matches!(&item.sig.output, ReturnType::Type(_, ty) if matches!(**ty, Type::Never(_)))
}

/// Attributes of the language, which look at nothing and rewrite nothing.
const INERT: [&str; 27] = [
    "allow",
    "automatically_derived",
    "cfg",
    "cfg_attr",
    "cold",
    "coverage",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "export_name",
    "forbid",
    "ignore",
    "inline",
    "link_section",
    "macro_use",
    "must_use",
    "no_mangle",
    "non_exhaustive",
    "optimize",
    "path",
    "should_panic",
    "target_feature",
    "track_caller",
    "unsafe",
    "warn",
    "test",
];

const TOOLS: [&str; 5] = ["clippy", "diagnostic", "miri", "rust_analyzer", "rustfmt"];

/// Whether an attribute macro that we do not know comes after us and reads the function as the user wrote it.
pub(crate) fn keeps_its_form(item: &ItemFn) -> bool {
    item.attrs.iter().any(must_see_an_async_fn)
}

/// An attribute macro that we do not know; `main` and `test` of every runtime are among them.
fn must_see_an_async_fn(attr: &Attribute) -> bool {
    let path = attr.path();
    match path.segments.first() {
        Some(first) if path.segments.len() == 1 => !INERT.iter().any(|name| first.ident == name),
        Some(first) => !TOOLS.iter().any(|tool| first.ident == tool),
        None => false,
    }
}

/// An attribute macro that wraps the body in a span and has to do so before us, or a `cfg_attr` that may hide one.
pub(crate) fn goes_first(attr: &Attribute) -> bool {
    match &attr.meta {
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            crate::syntax::mentions(list.tokens.clone(), &|word| {
                matches!(word, "instrument" | "trace" | "main" | "test")
            })
        }
        meta => meta
            .path()
            .segments
            .last()
            .is_some_and(|last| last.ident == "instrument" || last.ident == "trace"),
    }
}

/// Whether a synchronous body is one that we can serve.
fn builds_one_future(block: &Block) -> bool {
    if let Some(Stmt::Expr(tail, None)) = block.stmts.last()
        && tail_future(tail).is_some()
    {
        return true;
    }
    let mut search = OneFuture::default();
    search.visit_block(block);
    search.runs && search.futures == 1
}

/// `async move { … }` or `Box::pin(async move { … })`.
fn tail_future(tail: &Expr) -> Option<&ExprAsync> {
    match tail {
        Expr::Async(block) => Some(block),
        Expr::Call(call) if is_pin(call) => match call.args.first() {
            Some(Expr::Async(block)) => Some(block),
            _ => None,
        },
        _ => None,
    }
}

fn is_pin(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "pin"))
        && call.args.len() == 1
}

/// What the `main` and `test` attributes of the runtimes leave: one async block, driven by a `block_on`.
#[derive(Default)]
struct OneFuture {
    futures: usize,
    runs: bool,
}

impl Visit<'_> for OneFuture {
    fn visit_expr_async(&mut self, _: &ExprAsync) {
        self.futures += 1;
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        self.runs |= call.method == "block_on";
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &ExprCall) {
        self.runs |= matches!(&*call.func, Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "block_on"));
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_closure(&mut self, _: &ExprClosure) {}
    fn visit_item(&mut self, _: &Item) {}
}

/// Runs `then` on the expression that builds the future of a function of shape [`Shape::Block`].
pub(crate) fn with_future(block: &mut Block, then: impl FnOnce(&mut Expr)) {
    struct First<F>(Option<F>);

    impl<F: FnOnce(&mut Expr)> VisitMut for First<F> {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            if let Expr::Async(_) = expr {
                if let Some(then) = self.0.take() {
                    then(expr);
                }
            } else if self.0.is_some() {
                visit_mut::visit_expr_mut(self, expr);
            }
        }

        fn visit_expr_closure_mut(&mut self, _: &mut ExprClosure) {}
        fn visit_item_mut(&mut self, _: &mut Item) {}
    }

    let mut then = First(Some(then));
    if let Some(Stmt::Expr(tail, None)) = block.stmts.last_mut()
        && tail_future(tail).is_some()
    {
        return then.visit_expr_mut(tail);
    }
    then.visit_block_mut(block);
}

/// Runs `then` on the block in which the user's own statements are, below what tracing and fastrace put around them.
///
/// This goes by names that are private to those macros. When they change, `then` gets the whole body: the function
/// keeps its deadline and has no checkpoints inside the block that was not recognised.
pub(crate) fn with_own_body(shape: Shape, block: &mut Block, mut then: impl FnMut(&mut Block)) {
    match shape {
        Shape::Returned | Shape::Kept => instrumented(block, &mut then),
        Shape::Block => with_future(block, |future| {
            if let Expr::Async(future) = future {
                instrumented(&mut future.block, &mut then);
            }
        }),
    }
}

fn instrumented(block: &mut Block, then: &mut dyn FnMut(&mut Block)) {
    let mut search = Instrumented { then, found: false };
    search.visit_block_mut(block);
    if !search.found {
        then(block);
    }
}

struct Instrumented<'a> {
    then: &'a mut dyn FnMut(&mut Block),
    found: bool,
}

impl Instrumented<'_> {
    fn found(&mut self, block: &mut Block) {
        self.found = true;
        match block.stmts.first_mut().and_then(recorded) {
            Some(inner) => (self.then)(inner),
            None => (self.then)(block),
        }
    }
}

impl VisitMut for Instrumented<'_> {
    // Input:  let __tracing_instrument_future = async move { BODY };
    fn visit_local_mut(&mut self, local: &mut Local) {
        match &mut local.init {
            Some(init) if binds(&local.pat, "__tracing_instrument_future") => {
                if let Expr::Async(future) = &mut *init.expr {
                    self.found(&mut future.block);
                }
            }
            _ => visit_mut::visit_local_mut(self, local),
        }
    }

    // Input:  FutureExt::in_span(async move { let __ret__: T = BODY; __ret__ }, __span__)
    fn visit_expr_call_mut(&mut self, call: &mut ExprCall) {
        match call.args.first_mut() {
            Some(Expr::Async(future)) if begins_with(&future.block, "__ret__") => {
                self.found(&mut future.block);
            }
            _ => visit_mut::visit_expr_call_mut(self, call),
        }
    }

    fn visit_expr_async_mut(&mut self, _: &mut ExprAsync) {}
    fn visit_expr_closure_mut(&mut self, _: &mut ExprClosure) {}
    fn visit_item_mut(&mut self, _: &mut Item) {}
}

/// `#[instrument(err)]` and `#[instrument(ret)]` await the body in a block of their own, to look at its result.
///
/// ```text
/// let x = async move { BODY }.await; …
/// match async move { BODY }.await { … }
/// ```
fn recorded(first: &mut Stmt) -> Option<&mut Block> {
    let expr = match first {
        Stmt::Local(Local {
            init: Some(init), ..
        }) => &mut *init.expr,
        Stmt::Expr(Expr::Match(ExprMatch { expr, .. }), _) => &mut **expr,
        _ => return None,
    };
    match expr {
        Expr::Await(awaited) => match &mut *awaited.base {
            Expr::Async(future) => Some(&mut future.block),
            _ => None,
        },
        _ => None,
    }
}

fn binds(pat: &Pat, name: &str) -> bool {
    match pat {
        Pat::Ident(pat) => pat.ident == name,
        Pat::Type(pat) => binds(&pat.pat, name),
        _ => false,
    }
}

fn begins_with(block: &Block, name: &str) -> bool {
    matches!(block.stmts.first(), Some(Stmt::Local(local)) if binds(&local.pat, name))
}
