//! A fallback closure with too many arguments.
use deadline_runtime::deadline;

#[deadline(budget = "1s", fallback = |stopped, more| 0)]
async fn load(id: u32) -> u32 {
    id
}

fn main() {}
