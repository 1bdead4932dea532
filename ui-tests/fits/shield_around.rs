//! What is under a `#[shield]` does not count; what is beside it does.
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
async fn shielded(id: u32) -> Result<u32, Stopped> {
    load(id).await?;
    #[shield("10ms")]
    let id = load(id).await?;
    save(id).await
}

fn main() {}
