//! A boxed future declares what is in the box.
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
async fn boxes(id: u32) -> Result<u32, Stopped> {
    Box::pin(load(id)).await?;
    Box::pin(save(id)).await
}

fn main() {}
