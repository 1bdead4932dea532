//! A struct.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
struct Load {
    id: u32,
}

fn main() {}
