//! Also that of a statement.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn other(id: u32) -> u32 {
    id
}

const OTHER: std::time::Duration = std::time::Duration::from_millis(301);

#[deadline(budget = "700ms")]
async fn both(id: u32) -> Result<u32, Stopped> {
    load(id).await?;
    #[budget(OTHER)]
    let id = other(id).await;
    Ok(id)
}

fn main() {}
