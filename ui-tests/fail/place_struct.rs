//! A struct.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
struct Load {
    id: u32,
}

fn main() {}
