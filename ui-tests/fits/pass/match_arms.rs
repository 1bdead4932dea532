//! Of the arms of a `match` the largest counts, after what it looks at.
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

#[deadline(budget = "500ms")]
async fn arms() -> Result<u32, Stopped> {
    match ping().await? {
        0 => Ok(0),
        1 => save(1).await,
        id => load(id).await,
    }
}

fn main() {}
