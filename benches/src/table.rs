//! Measuring in turns, and printing what came of it.

use std::task::Context;
use std::time::{Duration, Instant};

/// One operation to be measured.
pub type Operation<'a> = &'a mut dyn FnMut(&mut Context<'_>);

/// How many allocations an operation makes. The benchmark brings its own counter, because one that is linked in counts in every
/// benchmark, also where only instructions matter.
pub type Allocations = fn(&mut dyn FnMut()) -> u64;

/// A table in Markdown, printed line by line.
pub struct Table {
    pub rounds: u32,
    /// In one round: enough that reading the clock does not count, and few enough that many rounds fit between two
    /// interruptions.
    pub operations: u32,
    pub allocations: Allocations,
}

impl Table {
    /// Prints the head.
    pub fn head(&self) {
        println!("| operation: yardstick | deadline | yardstick | ratio | allocations |");
        println!("|---|---|---|---|---|");
    }

    /// One line; an operation that consists of equal `parts` is counted by the part.
    pub fn row(
        &self,
        cx: &mut Context<'_>,
        (name, parts): (&str, u32),
        mut ours: impl FnMut(&mut Context<'_>),
        mut theirs: impl FnMut(&mut Context<'_>),
    ) {
        let operations = (self.operations / parts).max(10);
        let best = fastest(
            cx,
            self.rounds,
            operations,
            [&mut ours as Operation<'_>, &mut theirs],
        )
        .map(|nanos| nanos / f64::from(parts));
        println!(
            "| {name} | {} | {} | {:.2} | {} / {} |",
            nanos(best[0]),
            nanos(best[1]),
            best[0] / best[1],
            self.count(cx, &mut ours),
            self.count(cx, &mut theirs)
        );
    }

    fn count(&self, cx: &mut Context<'_>, operation: Operation<'_>) -> u64 {
        // Once before, so that what is kept for the thread is there.
        operation(cx);
        (self.allocations)(&mut || operation(cx))
    }
}

/// With the digits that a ratio needs.
fn nanos(nanos: f64) -> String {
    if nanos < 10.0 {
        format!("{nanos:.2} ns")
    } else {
        format!("{nanos:.0} ns")
    }
}

/// Nanoseconds an operation, of each the fastest round.
pub fn fastest<const N: usize>(
    cx: &mut Context<'_>,
    rounds: u32,
    operations: u32,
    mut all: [Operation<'_>; N],
) -> [f64; N] {
    let mut best = [Duration::MAX; N];
    for _ in 0..rounds {
        for (best, operation) in best.iter_mut().zip(&mut all) {
            let start = Instant::now();
            for _ in 0..operations {
                operation(cx);
            }
            *best = start.elapsed().min(*best);
        }
    }
    best.map(|took| took.as_nanos() as f64 / f64::from(operations))
}
