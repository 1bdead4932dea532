//! `audit`: warns of what a deadline cannot stop.

use crate::model::Scope;
use crate::syntax::{self, Known};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprAwait, ExprCall, ExprForLoop, ExprLoop, ExprMethodCall, ExprWhile, Item,
    Macro, Path,
};

const SPAWN: (&str, &str) = (
    "SPAWNED",
    "what is spawned goes on when this function has been stopped; only the call of an annotated function takes the deadline with it",
);
const SLEEP: (&str, &str) = (
    "BLOCKS_THE_THREAD",
    "`thread::sleep` blocks the thread, and no deadline ends it: await `tokio::time::sleep`",
);
const BLOCK_ON: (&str, &str) = (
    "BLOCKS_THE_THREAD",
    "`block_on` blocks the thread, and no deadline ends it: await the future",
);
const ENDLESS: (&str, &str) = (
    "NEVER_STOPPED",
    "there is neither an `await` nor a loop in this function, so that nothing in it can be stopped",
);

// Input:   tokio::spawn(f)
// Output:  const _: () = {
//              #[deprecated(note = "what is spawned …")]
//              const SPAWNED: () = ();
//              SPAWNED
//          };
//
// A stable compiler has no other way to let a macro warn. The last mention has the place of the user's token.
pub(super) fn of(body: &Block, name: &Ident, scope: &Scope) -> TokenStream {
    if !scope.audit {
        return TokenStream::new();
    }
    let mut audit = Audit::default();
    audit.visit_block(body);
    if !audit.can_stop {
        audit.found.push((name.span(), ENDLESS));
    }
    audit.found.iter().map(|found| warning(*found)).collect()
}

fn warning((place, (name, note)): (Span, (&str, &str))) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    let mention = Ident::new(&name.to_string(), place);
    let mention = quote_spanned!(place=> #mention);
    quote! {
        const _: () = {
            #[deprecated(note = #note)]
            const #name: () = ();
            #mention
        };
    }
}

#[derive(Default)]
struct Audit {
    found: Vec<(Span, (&'static str, &'static str))>,
    /// There is an await or a loop.
    can_stop: bool,
}

impl Audit {
    fn call(&mut self, path: &Path) {
        let mut names = path.segments.iter().rev().map(|segment| &segment.ident);
        let (Some(last), within) = (names.next(), names.next()) else {
            return;
        };
        let within = |expected: &[&str]| {
            within.is_some_and(|within| expected.iter().any(|name| within == name))
        };
        let what = match last.to_string().as_str() {
            "spawn" | "spawn_local" if within(&["tokio", "task"]) => SPAWN,
            "sleep" if within(&["thread"]) => SLEEP,
            "block_on" => BLOCK_ON,
            _ => return,
        };
        self.found.push((last.span(), what));
    }
}

impl Visit<'_> for Audit {
    fn visit_expr_call(&mut self, call: &ExprCall) {
        if let Expr::Path(path) = &*call.func {
            self.call(&path.path);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if call.method == "block_on" {
            self.found.push((call.method.span(), BLOCK_ON));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_await(&mut self, awaited: &ExprAwait) {
        self.can_stop = true;
        visit::visit_expr_await(self, awaited);
    }

    fn visit_expr_for_loop(&mut self, of: &ExprForLoop) {
        self.can_stop = true;
        visit::visit_expr_for_loop(self, of);
    }

    fn visit_expr_while(&mut self, of: &ExprWhile) {
        self.can_stop = true;
        visit::visit_expr_while(self, of);
    }

    fn visit_expr_loop(&mut self, of: &ExprLoop) {
        self.can_stop = true;
        visit::visit_expr_loop(self, of);
    }

    /// What is not looked into may await: `select!`.
    fn visit_macro(&mut self, mac: &Macro) {
        self.can_stop |= matches!(syntax::known(mac), Known::Joins | Known::Unknown);
        if let Some(arguments) = syntax::Arguments::read(mac) {
            arguments
                .iter()
                .for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_item(&mut self, _: &Item) {}
}
