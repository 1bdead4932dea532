//! An error type that takes no stop.
use deadline_runtime::deadline;

#[derive(Debug)]
struct AppError;

#[deadline(budget = "1s")]
async fn load(id: u32) -> Result<u32, AppError> {
    Ok(id)
}

fn main() {}
