//! Of what runs at the same time the longest counts.
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
async fn together(id: u32) -> Result<u32, Stopped> {
    let (left, right) = tokio::join!(load(id), save(id));
    save(left? + right?).await
}

fn main() {}
