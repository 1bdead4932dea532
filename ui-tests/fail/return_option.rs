//! An option.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load(id: u32) -> Option<u32> {
    Some(id)
}

fn main() {}
