//! With a fallback too.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "699ms", fallback = 0)]
async fn both(id: u32) -> u32 {
    load(id).await.unwrap_or(0) + save(id).await.unwrap_or(0)
}

fn main() {}
