//! No return type.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load(id: u32) {
    let _ = id;
}

fn main() {}
