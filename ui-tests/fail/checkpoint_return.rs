//! A synchronous function that cannot carry a stop.
use deadline_runtime::checkpoint;

#[checkpoint]
fn sum(ns: &[u32]) -> u32 {
    let mut sum = 0;
    for n in ns {
        sum += n;
    }
    sum
}

fn main() {}
