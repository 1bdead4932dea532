//! What a retry and a hedge cost beside `backon` and tower's hedge, as ratios within one run.
//!
//! Measured as in `overhead.rs`: in turns, many rounds each, the fastest round of each counts. Nothing is waited for, so that
//! only the bookkeeping is in the figures; beside a call over a network it is small either way. `-- --only OPERATION N` runs one N times, for callgrind.
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "measures and prints; nobody calls it"
)]

use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use deadline_benches::{Only, Table, drive, in_poll, in_task, only};
use deadline_runtime::hedge::Hedge;
use deadline_runtime::retry::{Backoff, Retry};
use deadline_runtime::{Stopped, deadline};
use tower::Service;
use tower::hedge::Policy;

const LONG: Duration = Duration::from_secs(60);
const RETRY: Retry = Retry::idempotent("call").backoff(Backoff::none());
const CAPPED: Retry = RETRY.attempt_cap(Duration::from_secs(1));
const HEDGE: Hedge = Hedge::idempotent("call", LONG);

/// Fails so many times, then succeeds.
fn call(attempt: u32, failures: u32) -> Ready<Result<u32, io::Error>> {
    ready(if attempt <= failures {
        Err(io::ErrorKind::ConnectionRefused.into())
    } else {
        Ok(attempt)
    })
}

fn ours(policy: Retry, failures: u32) -> impl Future<Output = Result<u32, io::Error>> {
    policy.run(move |attempt| call(attempt.number, failures))
}

/// Without a limit for an attempt.
async fn theirs(failures: u32) -> Result<u32, io::Error> {
    let mut attempt = 0;
    let tries = || {
        attempt += 1;
        call(attempt, failures)
    };
    tries
        .retry(ConstantBuilder::new().with_delay(Duration::ZERO))
        .sleep(|_| ready(()))
        .await
}

/// With one, as it is written by hand.
async fn theirs_capped(failures: u32) -> Result<u32, io::Error> {
    let mut attempt = 0;
    let tries = || {
        attempt += 1;
        let call = call(attempt, failures);
        async {
            tokio::time::timeout(Duration::from_secs(1), call)
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        }
    };
    tries
        .retry(ConstantBuilder::new().with_delay(Duration::ZERO))
        .sleep(|_| ready(()))
        .await
}

#[derive(Clone)]
struct Answers;

impl Service<u32> for Answers {
    type Response = u32;
    type Error = tower::BoxError;
    type Future = Ready<Result<u32, tower::BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u32) -> Self::Future {
        ready(Ok(request))
    }
}

#[derive(Clone)]
struct Always;

impl Policy<u32> for Always {
    fn clone_request(&self, request: &u32) -> Option<u32> {
        Some(*request)
    }

    fn can_retry(&self, _: &u32) -> bool {
        true
    }
}

fn rows(table: &Table, cx: &mut Context<'_>) {
    for (failures, what) in [(0, "first success"), (2, "two failures, no wait")] {
        table.row(
            cx,
            (&format!("retry, {what}: `backon`"), 1),
            |cx| drop(black_box(drive(cx, ours(RETRY, failures)))),
            |cx| drop(black_box(drive(cx, theirs(failures)))),
        );
        table.row(
            cx,
            (
                &format!("retry, {what}, attempts capped: `backon`, a `timeout` each"),
                1,
            ),
            |cx| drop(black_box(drive(cx, ours(CAPPED, failures)))),
            |cx| drop(black_box(drive(cx, theirs_capped(failures)))),
        );
    }
    let mut hedge = tower::hedge::Hedge::new(Answers, Always, 10, 0.95, LONG);
    table.row(
        cx,
        ("hedge, not fired: tower's", 1),
        |cx| {
            drop(black_box(drive(
                cx,
                HEDGE.run(|_| ready(Ok::<_, Stopped>(1))),
            )))
        },
        |cx| drop(black_box(drive(cx, hedge.call(1)))),
    );
}

/// Inside a function with a deadline, as in a request.
#[deadline(budget = "10m")]
async fn all() -> Result<(), Stopped> {
    let table = Table {
        rounds: 2_000,
        operations: 300,
        allocations: |operation| allocation_counter::measure(operation).count_total,
    };
    table.head();
    in_poll(|cx| rows(&table, cx)).await;
    Ok(())
}

fn repeat(cx: &mut Context<'_>, only: &Only) {
    for _ in 0..only.times {
        match only.operation.as_str() {
            "retry" => drop(black_box(drive(cx, ours(RETRY, 2)))),
            "backon" => drop(black_box(drive(cx, theirs(2)))),
            operation => panic!("no operation {operation}"),
        }
    }
}

/// For callgrind.
#[deadline(budget = "10m")]
async fn repeated(only: Only) -> Result<(), Stopped> {
    in_poll(|cx| repeat(cx, &only)).await;
    Ok(())
}

fn main() {
    match only() {
        Some(only) => in_task(repeated(only)),
        None => in_task(all()),
    }
    .expect("ten minutes are enough");
}
