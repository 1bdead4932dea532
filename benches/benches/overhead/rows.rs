//! Each operation beside its yardstick, in turns.

use std::hint::black_box;
use std::task::Context;

use deadline_benches::Table;
use tokio_util::sync::CancellationToken;

use crate::operations::{
    ITERATIONS, by_hand, checked, known, our8, outermost, run, ten, ten_timeouts, their1, their8,
    unchecked,
};

pub(crate) fn outermost_rows(table: &Table, cx: &mut Context<'_>) {
    let token = CancellationToken::new();
    for (pends, what) in [(false, "ready"), (true, "one pend")] {
        table.row(
            cx,
            (&format!("outermost scope, {what}: `timeout`"), 1),
            |cx| run(cx, black_box(outermost(pends))),
            |cx| run(cx, black_box(their1(pends))),
        );
        table.row(
            cx,
            (
                &format!("outermost scope, {what}: child token, `run_until_cancelled`, `timeout`"),
                1,
            ),
            |cx| run(cx, black_box(outermost(pends))),
            |cx| run(cx, black_box(by_hand(&token, pends))),
        );
        table.row(
            cx,
            (&format!("eight nested, {what}: eight timeouts"), 1),
            |cx| run(cx, black_box(our8(pends))),
            |cx| run(cx, black_box(their8(pends))),
        );
    }
    table.row(
        cx,
        (
            "ten children in turn that pend once, each: a `timeout` each",
            10,
        ),
        |cx| run(cx, black_box(ten())),
        |cx| run(cx, black_box(ten_timeouts())),
    );
    table.row(
        cx,
        (
            "an iteration of a loop with a checkpoint: without",
            ITERATIONS,
        ),
        |cx| run(cx, black_box(checked())),
        |cx| run(cx, black_box(unchecked())),
    );
}

/// To be called where a deadline came in.
pub(crate) fn known_rows(table: &Table, cx: &mut Context<'_>) {
    for (pends, what) in [(false, "ready"), (true, "one pend")] {
        table.row(
            cx,
            (&format!("deadline already known, {what}: `timeout`"), 1),
            |cx| run(cx, black_box(known(pends))),
            |cx| run(cx, black_box(their1(pends))),
        );
    }
}
