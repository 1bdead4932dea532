//! How late a loop stops whose every iteration takes a millisecond: a stride between two reads of the clock must not multiply it.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use deadline_runtime::{Stopped, deadline};

const STEP: Duration = Duration::from_millis(1);
const BUDGET: Duration = Duration::from_millis(20);

#[deadline(budget = "20ms")]
async fn slow_steps() -> Result<(), Stopped> {
    loop {
        let step = Instant::now();
        while step.elapsed() < STEP {
            spin_loop();
        }
    }
}

/// The least of some runs: what is above it was disturbed.
pub(crate) async fn table() {
    let mut least = Duration::MAX;
    for _ in 0..20 {
        let begun = Instant::now();
        drop(slow_steps().await);
        least = least.min(begun.elapsed().saturating_sub(BUDGET));
    }
    println!();
    println!("| stopped late | deadline |");
    println!("|---|---|");
    println!(
        "| a loop of 1 ms an iteration | {:.2} ms |",
        least.as_secs_f64() * 1e3
    );
}
