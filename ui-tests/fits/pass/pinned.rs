//! So does a pinned one.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "700ms")]
async fn pins(id: u32) -> Result<u32, Stopped> {
    let mut first = std::pin::pin!(load(id));
    first.as_mut().await?;
    let second = std::pin::pin!(save(id));
    second.await
}

fn main() {}
