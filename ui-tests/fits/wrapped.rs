//! A wrapper that is not ours hides what its future declares.
use std::time::Duration;

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
async fn wrapped(id: u32) -> Result<u32, Stopped> {
    let Ok(id) = tokio::time::timeout(Duration::from_millis(50), load(id)).await else {
        return save(id).await;
    };
    load(id?).await?;
    save(1).await
}

fn main() {}
