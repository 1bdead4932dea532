//! The paused clock: reading it, moving it, and saying where it must not be.

use std::future::Future;
use std::pin::pin;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use tokio::time::Instant;

use crate::context::Context;

/// How often other tasks get a turn in [`run_until_idle`].
const TURNS: usize = 256;

/// Runs a future and says how long it took, by the clock of the runtime.
pub async fn elapsed_of<F: IntoFuture>(future: F) -> (Duration, F::Output) {
    let start = Instant::now();
    let output = future.await;
    (start.elapsed(), output)
}

/// Whether the clock of the running runtime is paused. Takes some microseconds of real time.
#[must_use]
pub fn clock_is_paused() -> bool {
    let (start, paused) = (std::time::Instant::now(), Instant::now());
    while start.elapsed() < Duration::from_micros(20) {
        std::hint::spin_loop();
    }
    Instant::now() == paused
}

/// Refuses a paused clock, for helpers that use sockets, files, threads or another process: the paused clock runs ahead of
/// them, and every deadline expires at once.
///
/// # Panics
/// If the clock is paused, with `what`, such as "a TCP listener", in the message.
#[track_caller]
pub fn needs_real_time(what: &str) {
    assert!(
        !clock_is_paused(),
        "{what} needs real time, but this test's clock is paused: it jumps ahead whenever everything waits, also for real \
         I/O, so that deadlines expire at once. Take `start_paused = true` off the test, or use a mock in memory"
    );
}

/// Lets `time` go by on the paused clock, here and now: code that holds its thread that long, without an await.
///
/// # Panics
/// If the clock is not paused.
#[track_caller]
pub fn pass(time: Duration) {
    assert!(
        clock_is_paused(),
        "the clock can only be moved where it is paused: write `#[tokio::test(start_paused = true)]`, on a current-thread runtime"
    );
    pass_unchecked(time);
}

/// As [`pass`], where the clock is known to be paused.
pub(crate) fn pass_unchecked(time: Duration) {
    // The clock moves in the first poll; what follows it is a yield, which is not ours to make.
    let advance = pin!(tokio::time::advance(time));
    let _ = advance.poll(&mut TaskContext::from_waker(Waker::noop()));
}

/// Makes every loop checkpoint of the request of `context` take `step` of the paused clock; see
/// [`run_ticking`](super::run_ticking). It can be set once a request.
///
/// Starts of functions and awaits take nothing: those see the clock move by themselves.
///
/// # Panics
/// If the clock is not paused, or `context` is none.
#[track_caller]
pub fn tick_per_checkpoint(context: &Context, step: Duration) {
    pass(Duration::ZERO);
    let Some(node) = context.node() else {
        panic!("there is no context whose checkpoints could be told: `Context::none()`");
    };
    node.trip().tick(step);
}

/// Gives all other tasks of a current-thread runtime turns until they have come to rest, without moving the clock.
///
/// Up to 256 turns each: a chain of wake-ups that is longer is not followed to its end.
pub async fn run_until_idle() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}
