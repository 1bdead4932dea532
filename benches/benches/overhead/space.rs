//! What the futures take, and what is allocated beside them.

use std::hint::black_box;
use std::task::Context;

use crate::operations::{our2, our8, outermost, run, their1, their2, their8};

pub(crate) fn sizes() {
    let (ours, theirs) = (size_of_val(&outermost(true)), size_of_val(&their1(true)));
    let (our8, their8) = (size_of_val(&our8(true)), size_of_val(&their8(true)));
    println!();
    println!("| bytes of a future | deadline | `timeout` |");
    println!("|---|---|---|");
    println!("| one around one await | {ours} | {theirs} |");
    println!("| eight nested | {our8} | {their8} |");
    println!(
        "| a nesting level | {} | {} |",
        (our8 - ours) / 7,
        (their8 - theirs) / 7
    );
}

/// All wait once: what is ready at once allocates less.
pub(crate) fn allocations(cx: &mut Context<'_>) {
    let mut count = |operation: fn(&mut Context<'_>)| {
        // Once before, so that what is kept for the thread is there.
        operation(cx);
        allocation_counter::measure(|| operation(cx)).count_total
    };
    let ours = [
        count(|cx| run(cx, black_box(our2(true)))),
        count(|cx| run(cx, black_box(our8(true)))),
    ];
    let theirs = [
        count(|cx| run(cx, black_box(their2(true)))),
        count(|cx| run(cx, black_box(their8(true)))),
    ];
    let each = |[two, eight]: [u64; 2]| (eight - two) as f64 / 6.0;
    println!();
    println!("| allocations | deadline | `timeout` |");
    println!("|---|---|---|");
    println!(
        "| a request of eight nested | {} | {} |",
        ours[1], theirs[1]
    );
    println!("| a nested scope | {} | {} |", each(ours), each(theirs));
}
