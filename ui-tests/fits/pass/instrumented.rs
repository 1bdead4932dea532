//! Below `#[instrument]` and above it.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[tracing::instrument]
#[deadline(budget = "700ms")]
async fn above(id: u32) -> Result<u32, Stopped> {
    load(id).await?;
    save(id).await
}

#[deadline(budget = "700ms")]
#[tracing::instrument]
async fn below(id: u32) -> Result<u32, Stopped> {
    load(id).await?;
    save(id).await
}

fn main() {}
