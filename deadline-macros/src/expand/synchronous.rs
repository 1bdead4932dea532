//! `#[checkpoint]` on a synchronous function.

use super::{body, version};
use crate::model::Scope;
use crate::parse::statements::Placed;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens as _;
use syn::{Expr, ItemFn, Stmt};

// Input:
//     #[checkpoint]
//     fn sum(rows: &[Row]) -> Result<u64, Error> {
//         for row in rows { … }
//     }
//
// Output:
//     fn sum(rows: &[Row]) -> Result<u64, Error> {
//         {
//             let mut pace = Pace::new();
//             for row in rows {
//                 if let Some(stopped) = pace.checkpoint() { return stop(stopped); }
//                 …
//             }
//         }
//     }
pub(crate) fn function(mut item: ItemFn, scope: &Scope, statements: &[Placed]) -> TokenStream {
    body::rewrite(&mut item.block, scope, statements, None);
    let version = version(scope.runtime.root(Span::mixed_site()));
    item.block
        .stmts
        .insert(0, Stmt::Expr(Expr::Verbatim(version), None));
    item.into_token_stream()
}
