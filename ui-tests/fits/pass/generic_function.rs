//! A generic function is checked where it is written.
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
async fn both<T: Into<u32>>(id: T) -> Result<u32, Stopped> {
    let id = load(id.into()).await?;
    save(id).await
}

fn main() {}
