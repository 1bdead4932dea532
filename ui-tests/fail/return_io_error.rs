//! An error of the standard library.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load(id: u32) -> std::io::Result<u32> {
    Ok(id)
}

fn main() {}
