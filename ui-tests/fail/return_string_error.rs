//! A text as error.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load(id: u32) -> Result<u32, String> {
    Ok(id)
}

fn main() {}
