//! A fallback of another type than the function.
use deadline_runtime::deadline;

#[deadline(budget = "1s", fallback = "nothing")]
async fn load(id: u32) -> u32 {
    id
}

fn main() {}
