//! What a scope costs beside `tokio::time::timeout`, as ratios within one run.
//!
//! Ours and the yardstick are measured in turns, many rounds each, and the fastest round of each counts: what is slower
//! than that was disturbed. Figures are nanoseconds an operation inside a task of a current-thread runtime; allocations
//! are counted in a pass of their own. `-- --only OPERATION N` runs one N times, for callgrind. `BENCHMARKS.md` says what
//! the figures were and what they mean.
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "measures and prints; nobody calls it"
)]

mod lateness;
mod neighbours;
mod operations;
mod rows;
mod space;

use std::hint::black_box;
use std::task::Context;

use deadline_benches::{Only, Table, in_poll, in_task, only};
use deadline_runtime::Budget;
use operations::{
    LONG, by_hand, checked, known, our8, outermost, run, ten, ten_timeouts, their1, their8,
    unchecked,
};
use tokio_util::sync::CancellationToken;

fn request() -> deadline_runtime::Context {
    deadline_runtime::Context::root("request", Budget::new(LONG))
}

async fn all() {
    let table = Table {
        rounds: 2_000,
        operations: 500,
        allocations: |operation| allocation_counter::measure(operation).count_total,
    };
    table.head();
    in_poll(|cx| rows::outermost_rows(&table, cx)).await;
    let known = in_poll(|cx| rows::known_rows(&table, cx));
    let _ = request().run(known).await;
    in_poll(|cx| neighbours::neighbours(&table, cx)).await;
    lateness::table().await;
    in_poll(space::allocations).await;
    space::sizes();
}

/// One operation, so many times, and nothing else.
fn repeat(cx: &mut Context<'_>, only: &Only) {
    let token = CancellationToken::new();
    for _ in 0..only.times {
        match only.operation.as_str() {
            "ready" => run(cx, black_box(outermost(false))),
            "pend" => run(cx, black_box(outermost(true))),
            "nested-ready" => run(cx, black_box(our8(false))),
            "nested-pend" => run(cx, black_box(our8(true))),
            "ten" => run(cx, black_box(ten())),
            "known-ready" => run(cx, black_box(known(false))),
            "known-pend" => run(cx, black_box(known(true))),
            "checkpoint" => run(cx, black_box(checked())),
            "timeout-ready" => run(cx, black_box(their1(false))),
            "timeout-pend" => run(cx, black_box(their1(true))),
            "by-hand-ready" => run(cx, black_box(by_hand(&token, false))),
            "by-hand-pend" => run(cx, black_box(by_hand(&token, true))),
            "timeouts-ready" => run(cx, black_box(their8(false))),
            "timeouts-pend" => run(cx, black_box(their8(true))),
            "ten-timeouts" => run(cx, black_box(ten_timeouts())),
            "no-checkpoint" => run(cx, black_box(unchecked())),
            operation => panic!("no operation {operation}"),
        }
    }
}

fn main() {
    let Some(only) = only() else {
        return in_task(all());
    };
    let known = only.operation.starts_with("known");
    let repeated = in_poll(move |cx| repeat(cx, &only));
    in_task(async move {
        if known {
            let _ = request().run(repeated).await;
        } else {
            repeated.await;
        }
    });
}
