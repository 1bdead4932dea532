//! The condition of a `while` belongs to its body.
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
async fn drain(id: u32) -> Result<u32, Stopped> {
    while save(id).await? > 0 {
        load(id).await?;
    }
    Ok(id)
}

fn main() {}
