//! Beside other attributes, contexts and codecs: neighbours, no yardsticks.

use std::hint::black_box;
use std::task::Context;

use deadline_benches::{Pend, Table};
use deadline_runtime::Budget;
use deadline_runtime::http::codec::{grpc, relative};

use crate::operations::{LONG, outermost, run};

/// What other attributes of a function cost.
#[tracing::instrument]
async fn instrumented(pends: bool) {
    Pend(u32::from(pends)).await;
}

pub(crate) fn neighbours(table: &Table, cx: &mut Context<'_>) {
    for (pends, what) in [(false, "ready"), (true, "one pend")] {
        table.row(
            cx,
            (
                &format!("outermost scope, {what}: `#[instrument]`, nobody subscribed"),
                1,
            ),
            |cx| run(cx, black_box(outermost(pends))),
            |cx| run(cx, black_box(instrumented(pends))),
        );
    }
    table.row(
        cx,
        ("a request's context: tarpc's `context::current()`", 1),
        |_| {
            drop(black_box(deadline_runtime::Context::root(
                "request",
                Budget::new(LONG),
            )))
        },
        |_| {
            let _ = black_box(tarpc::context::current());
        },
    );
    table.row(
        cx,
        ("reading `x-request-timeout-ms`: `str::parse`", 1),
        |_| {
            let _ = black_box(relative::decode(black_box(b"1500")));
        },
        |_| {
            let text = std::str::from_utf8(black_box(b"1500"));
            let _ = black_box(text.map(str::parse::<u64>));
        },
    );
    table.row(
        cx,
        ("reading `grpc-timeout`: `str::parse` of its number", 1),
        |_| {
            let _ = black_box(grpc::decode(black_box(b"450000u")));
        },
        |_| {
            let text = std::str::from_utf8(black_box(b"450000"));
            let _ = black_box(text.map(str::parse::<u64>));
        },
    );
}
