//! So does one that only a `break` ends, up to there.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn other(id: u32) -> u32 {
    id
}

#[deadline(budget = "699ms")]
async fn retry(id: u32) -> Result<u32, Stopped> {
    let found = loop {
        if let Ok(found) = save(id).await {
            break found;
        }
        other(id).await;
    };
    load(found).await
}

fn main() {}
