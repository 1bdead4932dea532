#![deny(deprecated)]
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", audit)]
async fn both(id: u32) -> Result<u32, Stopped> {
    tokio::spawn(async move { id }).await.ok();
    tokio::task::spawn(async move { id }).await.ok();
    Ok(id)
}

fn main() {}
