//! A type that cannot carry a stop.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load(id: u32) -> u32 {
    id
}

fn main() {}
