//! What a scope costs beside `tokio::time::timeout`, as ratios within one run.
//!
//! Ours and the yardstick are measured in turns, many rounds each, and the fastest round of each counts: what is slower
//! than that was disturbed. Figures are nanoseconds an operation inside a task of a current-thread runtime; allocations
//! are counted in a pass of their own. `BENCHMARKS.md` says what the figures were and what they mean.
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "measures and prints; nobody calls it"
)]

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::task::{Context, Poll};
use std::time::Duration;

use deadline_benches::{Pend, Table, drive, runtime};
use deadline_runtime::http::codec::{grpc, relative};
use deadline_runtime::{Budget, Stopped, deadline};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(60);

#[deadline(budget = "60s")]
async fn outermost(pends: bool) -> Result<(), Stopped> {
    Pend(u32::from(pends)).await;
    Ok(())
}

macro_rules! nested {
    ($ours:ident, $theirs:ident => $our_inner:ident, $their_inner:ident) => {
        #[deadline(budget = "60s")]
        async fn $ours(pends: bool) -> Result<(), Stopped> {
            $our_inner(pends).await
        }
        async fn $theirs(pends: bool) {
            let _ = tokio::time::timeout(LONG, $their_inner(pends)).await;
        }
    };
}

async fn their1(pends: bool) {
    let _ = tokio::time::timeout(LONG, Pend(u32::from(pends))).await;
}
nested!(our2, their2 => outermost, their1);
nested!(our3, their3 => our2, their2);
nested!(our4, their4 => our3, their3);
nested!(our5, their5 => our4, their4);
nested!(our6, their6 => our5, their5);
nested!(our7, their7 => our6, their6);
nested!(our8, their8 => our7, their7);

/// The deadline came in with the request.
#[deadline]
async fn known(pends: bool) -> Result<(), Stopped> {
    Pend(u32::from(pends)).await;
    Ok(())
}

/// What people write by hand.
async fn by_hand(parent: &CancellationToken, pends: bool) {
    let token = parent.child_token();
    let _ = token
        .run_until_cancelled(tokio::time::timeout(LONG, Pend(u32::from(pends))))
        .await;
}

#[deadline(budget = "60s")]
async fn ten() -> Result<(), Stopped> {
    for _ in 0..10 {
        outermost(true).await?;
    }
    Ok(())
}

async fn ten_timeouts() {
    for _ in 0..10 {
        their1(true).await;
    }
}

fn step(sum: u64) -> u64 {
    black_box(sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7))
}

const ITERATIONS: u64 = 1_000;

#[deadline(budget = "60s")]
async fn checked() -> Result<u64, Stopped> {
    let mut sum = 0;
    for _ in 0..ITERATIONS {
        sum = step(sum);
    }
    Ok(sum)
}

#[deadline(budget = "60s")]
async fn unchecked() -> Result<u64, Stopped> {
    let mut sum = 0;
    #[checkpoint(off)]
    for _ in 0..ITERATIONS {
        sum = step(sum);
    }
    Ok(sum)
}

fn run<T>(cx: &mut Context<'_>, future: impl Future<Output = T>) {
    drop(drive(cx, future));
}

fn outermost_rows(table: &Table, cx: &mut Context<'_>) {
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
                &format!("the same: child token, `run_until_cancelled`, `timeout`, {what}"),
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
            "ten children in turn that pend once, each: a timeout each",
            10,
        ),
        |cx| run(cx, black_box(ten())),
        |cx| run(cx, black_box(ten_timeouts())),
    );
    table.row(
        cx,
        ("an iteration with a checkpoint: without", 1_000),
        |cx| run(cx, black_box(checked())),
        |cx| run(cx, black_box(unchecked())),
    );
}

/// What other attributes of a function cost.
#[tracing::instrument]
async fn instrumented(pends: bool) {
    Pend(u32::from(pends)).await;
}

fn neighbours(table: &Table, cx: &mut Context<'_>) {
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

fn known_rows(table: &Table, cx: &mut Context<'_>) {
    for (pends, what) in [(false, "ready"), (true, "one pend")] {
        table.row(
            cx,
            (&format!("deadline already known, {what}: `timeout`"), 1),
            |cx| run(cx, black_box(known(pends))),
            |cx| run(cx, black_box(their1(pends))),
        );
    }
}

/// Runs `rows` inside one poll of the running task.
fn once(table: &Table, rows: fn(&Table, &mut Context<'_>)) -> impl Future<Output = ()> {
    poll_fn(move |cx| {
        rows(table, cx);
        Poll::Ready(())
    })
}

async fn all() {
    let table = Table {
        rounds: 300,
        operations: 2_000,
        allocations: |operation| allocation_counter::measure(operation).count_total,
    };
    table.head();
    once(&table, outermost_rows).await;
    once(&table, neighbours).await;
    let request = deadline_runtime::Context::root("request", Budget::new(LONG));
    let _ = request.run(once(&table, known_rows)).await;
}

/// For callgrind: one operation, so many times, and nothing else.
fn only(cx: &mut Context<'_>, operation: &str, times: u32) {
    for _ in 0..times {
        match operation {
            "ready" => run(cx, black_box(outermost(false))),
            "pend" => run(cx, black_box(outermost(true))),
            "nested-ready" => run(cx, black_box(our8(false))),
            "nested-pend" => run(cx, black_box(our8(true))),
            "known-ready" => run(cx, black_box(known(false))),
            "known-pend" => run(cx, black_box(known(true))),
            "checkpoint" => run(cx, black_box(checked())),
            "timeout-ready" => run(cx, black_box(their1(false))),
            "timeout-pend" => run(cx, black_box(their1(true))),
            "timeouts-ready" => run(cx, black_box(their8(false))),
            "timeouts-pend" => run(cx, black_box(their8(true))),
            _ => panic!("no operation {operation}"),
        }
    }
}

fn main() {
    let runtime = runtime();
    // In a task, as a request is.
    let mut arguments = std::env::args().skip_while(|argument| argument != "--only");
    if let (Some(operation), Some(times)) = (arguments.nth(1), arguments.next()) {
        let times = times.parse().expect("a number");
        let request = deadline_runtime::Context::root("request", Budget::new(LONG));
        let known = operation.starts_with("known");
        let only = poll_fn(move |cx| {
            only(cx, &operation, times);
            Poll::Ready(())
        });
        let only = async move {
            if known {
                let _ = request.run(only).await;
            } else {
                only.await;
            }
        };
        let ran = runtime.block_on(async { tokio::spawn(only).await });
        return ran.expect("the task runs to its end");
    }
    runtime
        .block_on(async { tokio::spawn(all()).await })
        .expect("the task runs to its end");
    let (ours, theirs) = (size_of_val(&outermost(true)), size_of_val(&their1(true)));
    let (our8, their8) = (size_of_val(&our8(true)), size_of_val(&their8(true)));
    println!();
    println!("| bytes of a future | deadline | `timeout` |");
    println!("|---|---|---|");
    println!("| one around one await | {ours} | {theirs} |");
    println!("| eight nested | {our8} | {their8} |");
    println!(
        "| a nesting level | {} | {} |",
        (our8 - ours) / 7,
        (their8 - theirs) / 7
    );
}
