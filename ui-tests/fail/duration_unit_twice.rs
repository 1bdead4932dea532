//! A unit is used once in a duration.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s 2s")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
