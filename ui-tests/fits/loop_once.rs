//! A loop counts its body once.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "699ms")]
async fn all(ids: Vec<u32>) -> Result<u32, Stopped> {
    let mut sum = 0;
    for id in ids {
        sum += save(id).await?;
    }
    load(sum).await
}

fn main() {}
