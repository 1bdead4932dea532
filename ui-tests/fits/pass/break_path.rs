//! What a loop has taken before its `break` counts.
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
async fn search(ids: &[u32]) -> Result<u32, Stopped> {
    for id in ids {
        if *id == 0 {
            load(*id).await?;
            break;
        }
    }
    save(1).await
}

fn main() {}
