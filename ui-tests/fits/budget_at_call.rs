//! A `#[budget]` at the call replaces what the callee declares.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "550ms")]
async fn narrowed(id: u32) -> Result<u32, Stopped> {
    #[budget("251ms")]
    let id = load(id).await?;
    save(id).await
}

fn main() {}
