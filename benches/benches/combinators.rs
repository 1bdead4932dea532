//! What a retry and a hedge cost beside `backon` and tower's hedge, as ratios within one run.
//!
//! Measured as in `overhead.rs`: in turns, many rounds each, the fastest round of each counts. Nothing is waited for, so that
//! only the bookkeeping is in the figures; beside a call over a network it is small either way.
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "measures and prints; nobody calls it"
)]

use std::future::{Future, Ready, poll_fn, ready};
use std::hint::black_box;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use backon::{ConstantBuilder, Retryable as _};
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

type Operation<'a> = &'a mut dyn FnMut(&mut Context<'_>);

const OPERATIONS: u32 = 1_000;
const ROUNDS: u32 = 300;

fn drive<F: Future>(cx: &mut Context<'_>, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return value;
        }
    }
}

fn round(cx: &mut Context<'_>, operation: Operation<'_>) -> f64 {
    let start = Instant::now();
    for _ in 0..OPERATIONS {
        operation(cx);
    }
    start.elapsed().as_nanos() as f64 / f64::from(OPERATIONS)
}

fn allocations(cx: &mut Context<'_>, operation: Operation<'_>) -> u64 {
    operation(cx);
    allocation_counter::measure(|| operation(cx)).count_total
}

fn row(
    cx: &mut Context<'_>,
    name: &str,
    mut ours: impl FnMut(&mut Context<'_>),
    mut theirs: impl FnMut(&mut Context<'_>),
) {
    let mut best = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        best[0] = best[0].min(round(cx, &mut ours));
        best[1] = best[1].min(round(cx, &mut theirs));
    }
    println!(
        "| {name} | {:.0} ns | {:.0} ns | {:.2} | {} / {} |",
        best[0],
        best[1],
        best[0] / best[1],
        allocations(cx, &mut ours),
        allocations(cx, &mut theirs)
    );
}

fn rows(cx: &mut Context<'_>) {
    for (failures, what) in [(0, "first success"), (2, "two failures, no wait")] {
        row(
            cx,
            &format!("retry, {what}: `backon`"),
            |cx| drop(black_box(drive(cx, ours(RETRY, failures)))),
            |cx| drop(black_box(drive(cx, theirs(failures)))),
        );
        row(
            cx,
            &format!("retry with a cap on each attempt, {what}: `backon`, a `timeout` each"),
            |cx| drop(black_box(drive(cx, ours(CAPPED, failures)))),
            |cx| drop(black_box(drive(cx, theirs_capped(failures)))),
        );
    }
    let mut hedge = tower::hedge::Hedge::new(Answers, Always, 10, 0.95, LONG);
    row(
        cx,
        "hedge, not fired: tower's",
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
    println!("| operation: yardstick | deadline | yardstick | ratio | allocations |");
    println!("|---|---|---|---|---|");
    poll_fn(|cx| {
        rows(cx);
        Poll::Ready(())
    })
    .await;
    Ok(())
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let done = runtime.block_on(async { tokio::spawn(all()).await });
    done.expect("the task runs to its end")
        .expect("ten minutes are enough");
}
