//! Bytes of the futures.

use crate::operations::{our8, outermost, their1, their8};

pub(crate) fn table() {
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
