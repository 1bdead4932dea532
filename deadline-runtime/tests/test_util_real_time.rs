//! Loops that compute, in real time, on both kinds of runtime: what the kit's clock shows exactly holds there too.
#![allow(missing_docs, clippy::all, clippy::pedantic)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::ms;
use deadline_runtime::test_util::{Fault, Faults, assert_stopped, elapsed_of, needs_real_time};
use deadline_runtime::{Cause, Context, Phase, Stopped, checkpoint, deadline, timeout};
use tokio::runtime::{Builder, Runtime};

fn both() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_time().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap(),
    ]
}

/// A millisecond of work, and whether it began too late.
fn step(late: &AtomicUsize) {
    if Context::current().remaining() == Some(Duration::ZERO) {
        late.fetch_add(1, Relaxed);
    }
    let start = Instant::now();
    while start.elapsed() < ms(1) {
        std::hint::spin_loop();
    }
}

#[deadline(budget = "20ms")]
async fn steps(late: Arc<AtomicUsize>, done: Arc<AtomicUsize>) -> Result<(), Stopped> {
    loop {
        step(&late);
        done.fetch_add(1, Relaxed);
    }
}

#[checkpoint]
fn grind(late: &AtomicUsize, done: &AtomicUsize) -> Result<(), Stopped> {
    while done.fetch_add(1, Relaxed) < 10_000 {
        step(late);
    }
    Ok(())
}

#[deadline(budget = "20ms")]
async fn hands_on(late: Arc<AtomicUsize>, done: Arc<AtomicUsize>) -> Result<(), Stopped> {
    grind(&late, &done)
}

#[test]
fn a_loop_begins_no_second_step_after_its_end() {
    for runtime in both() {
        let (late, done) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let outcome =
            runtime.block_on(async { tokio::spawn(steps(late.clone(), done.clone())).await });
        let outcome = outcome.unwrap();
        assert_stopped(&outcome)
            .cause(Cause::DeadlineExceeded)
            .phase(Phase::Compute);
        // The thread may be taken from it between a checkpoint and the step after that.
        assert!(late.load(Relaxed) <= 1);
        let done = done.load(Relaxed);
        assert!((1..=21).contains(&done), "{done}");

        let (late, done) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let outcome =
            runtime.block_on(async { tokio::spawn(hands_on(late.clone(), done.clone())).await });
        assert_stopped(&outcome.unwrap())
            .cause(Cause::DeadlineExceeded)
            .phase(Phase::Compute);
        assert!(late.load(Relaxed) <= 1);
        assert!(done.load(Relaxed) <= 22);
    }
}

#[tokio::test]
async fn a_fault_holds_the_thread_in_real_time_as_well() {
    needs_real_time("a thread that is held");
    let faults = Faults::script([Fault::Block(ms(30)), Fault::Spin]);
    let start = Instant::now();
    let call = timeout(ms(10), faults.around(async { Ok::<_, std::io::Error>(1) }));
    // Ready in the poll that crosses the limit.
    let (took, value) = elapsed_of(call).await;
    assert_eq!(value.unwrap().unwrap(), 1);
    assert!(took >= ms(30) && start.elapsed() >= ms(30));
    let spun = timeout(ms(10), faults.around(async { Ok::<_, std::io::Error>(1) })).await;
    assert_stopped(&spun).cause(Cause::DeadlineExceeded);
}
