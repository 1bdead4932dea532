//! What a scope costs beside `tokio::time::timeout`, as ratios within one run.
//!
//! Ours and the yardstick are measured in turns, many rounds each, and the fastest round of each counts: what is slower
//! than that was disturbed. Figures are nanoseconds an operation on a current-thread runtime; allocations are counted
//! in a pass of their own.
#![allow(missing_docs, clippy::pedantic)]

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use deadline_runtime::{Stopped, deadline};

const LONG: Duration = Duration::from_secs(60);

/// Pending once, then ready.
struct Pend(bool);

impl Future for Pend {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, false) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

#[deadline(budget = "60s")]
async fn outermost(pends: bool) -> Result<(), Stopped> {
    Pend(pends).await;
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
    let _ = tokio::time::timeout(LONG, Pend(pends)).await;
}
nested!(our2, their2 => outermost, their1);
nested!(our3, their3 => our2, their2);
nested!(our4, their4 => our3, their3);
nested!(our5, their5 => our4, their4);
nested!(our6, their6 => our5, their5);
nested!(our7, their7 => our6, their6);
nested!(our8, their8 => our7, their7);

/// Polls until ready, with a waker that does nothing: only the polls are measured.
fn drive<F: Future>(future: F) {
    let mut future = std::pin::pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut cx).is_pending() {}
}

const OPERATIONS: u32 = 2_000;
const ROUNDS: u32 = 400;

/// Nanoseconds an operation.
fn round(operation: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..OPERATIONS {
        operation();
    }
    start.elapsed().as_nanos() as f64 / f64::from(OPERATIONS)
}

fn allocations(operation: &mut dyn FnMut()) -> u64 {
    // Once before, so that what is kept for the thread is there.
    operation();
    allocation_counter::measure(operation).count_total
}

fn row(name: &str, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let mut best = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        for (index, operation) in [&mut ours as &mut dyn FnMut(), &mut theirs]
            .into_iter()
            .enumerate()
        {
            best[index] = best[index].min(round(operation));
        }
    }
    println!(
        "| {name} | {:.0} ns | {:.0} ns | {:.2} | {} / {} |",
        best[0],
        best[1],
        best[0] / best[1],
        allocations(&mut ours),
        allocations(&mut theirs)
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    // Inside a task, as a request is.
    runtime.block_on(poll_fn(|_| {
        println!("| operation | deadline | tokio `timeout` | ratio | allocations |");
        println!("|---|---|---|---|---|");
        row(
            "outermost scope, ready",
            || drive(black_box(outermost(false))),
            || drive(black_box(their1(false))),
        );
        row(
            "outermost scope, one pend",
            || drive(black_box(outermost(true))),
            || drive(black_box(their1(true))),
        );
        row(
            "eight nested, ready",
            || drive(black_box(our8(false))),
            || drive(black_box(their8(false))),
        );
        row(
            "eight nested, one pend",
            || drive(black_box(our8(true))),
            || drive(black_box(their8(true))),
        );
        Poll::Ready(())
    }));
    println!();
    println!("| future | bytes |");
    println!("|---|---|");
    println!(
        "| one scope around one await | {} |",
        size_of_val(&outermost(true))
    );
    println!(
        "| `timeout` around the same | {} |",
        size_of_val(&their1(true))
    );
    println!("| eight nested scopes | {} |", size_of_val(&our8(true)));
    println!("| eight nested timeouts | {} |", size_of_val(&their8(true)));
}
