//! Of two branches the larger counts.
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
async fn either(id: u32) -> Result<u32, Stopped> {
    ping().await?;
    if id == 0 {
        load(id).await
    } else {
        save(id).await
    }
}

fn main() {}
