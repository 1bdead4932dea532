//! A `?` may leave early; the way that goes on is the dearer one.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "799ms")]
async fn three(id: u32) -> Result<u32, Stopped> {
    let id = load(id).await.map(|id| id.max(1))?;
    let id = save(id).await?;
    Ok(ping().await? + id)
}

fn main() {}
