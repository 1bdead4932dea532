//! A normal run does not take longer than is allowed.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "100ms", plan = "101ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
