//! An opaque type.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load(id: u32) -> impl std::fmt::Display {
    id
}

fn main() {}
