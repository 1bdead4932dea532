//! What a scope costs beside `tokio::time::timeout`, as ratios within one run.
//!
//! Ours and the yardstick are measured in turns, many rounds each, and the fastest round of each counts: what is slower
//! than that was disturbed. Figures are nanoseconds an operation on a current-thread runtime; heap is counted by the
//! allocator of this binary.
#![allow(missing_docs, clippy::pedantic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use deadline_runtime::{Stopped, deadline};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: hands everything to the system allocator; the counter has no effect on memory.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as required of our caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as required of our caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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

struct Measured {
    nanos: f64,
    allocations: f64,
}

const OPERATIONS: u32 = 2_000;
const ROUNDS: u32 = 400;

fn round(operation: &mut dyn FnMut()) -> Measured {
    let before = ALLOCATIONS.load(Relaxed);
    let start = Instant::now();
    for _ in 0..OPERATIONS {
        operation();
    }
    let elapsed = start.elapsed();
    Measured {
        nanos: elapsed.as_nanos() as f64 / f64::from(OPERATIONS),
        allocations: (ALLOCATIONS.load(Relaxed) - before) as f64 / f64::from(OPERATIONS),
    }
}

fn row(name: &str, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let mut best = [f64::MAX; 2];
    let mut allocations = [0.0; 2];
    for _ in 0..ROUNDS {
        for (index, operation) in [&mut ours as &mut dyn FnMut(), &mut theirs]
            .into_iter()
            .enumerate()
        {
            let measured = round(operation);
            best[index] = best[index].min(measured.nanos);
            allocations[index] = measured.allocations;
        }
    }
    println!(
        "| {name} | {:.0} ns | {:.0} ns | {:.2} | {:.0} / {:.0} |",
        best[0],
        best[1],
        best[0] / best[1],
        allocations[0],
        allocations[1]
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
