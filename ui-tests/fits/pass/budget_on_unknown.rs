//! It gives a figure to a future that declares none.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn other(id: u32) -> u32 {
    id
}

#[deadline(budget = "550ms")]
async fn bounded(id: u32) -> Result<u32, Stopped> {
    #[budget("150ms", fallback = 0)]
    let id = other(id).await;
    load(id).await
}

fn main() {}
