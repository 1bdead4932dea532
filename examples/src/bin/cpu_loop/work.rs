//! The functions this story is about.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use deadline_runtime::{Stopped, checkpoint, deadline};
use tokio::time::sleep;

/// A millisecond of work.
fn step(sum: u64) -> u64 {
    let start = Instant::now();
    let mut sum = sum;
    while start.elapsed() < Duration::from_millis(1) {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
    }
    sum
}

/// Each iteration begins with a checkpoint.
#[deadline(budget = "100ms")]
pub async fn steps(count: u32) -> Result<u64, Stopped> {
    let mut sum = 0;
    for _ in 0..count {
        sum = step(sum);
    }
    Ok(sum)
}

/// Not async, and given no context: it finds the one that is running.
#[checkpoint]
fn grind(count: u32) -> Result<u64, Stopped> {
    let mut sum = 0;
    for _ in 0..count {
        sum = step(sum);
    }
    Ok(sum)
}

#[deadline(budget = "100ms")]
pub async fn hands_on(count: u32) -> Result<u64, Stopped> {
    grind(count)
}

/// Goes on whatever it is told.
#[deadline(budget = "150ms", cleanup = "50ms", checkpoints = "awaits")]
pub async fn swallows(stops: &AtomicU32) -> Result<u64, Stopped> {
    loop {
        if nap().await.is_err() {
            stops.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn nap() -> Result<(), Stopped> {
    sleep(Duration::from_millis(5)).await;
    Ok(())
}

/// Bounded by nothing but itself.
#[deadline(budget = "100ms")]
pub async fn unchecked(count: u32) -> Result<u64, Stopped> {
    let mut sum = 0;
    #[checkpoint(off)]
    for _ in 0..count {
        sum = step(sum);
    }
    Ok(sum)
}
