//! A percentage is one of the budget without the reserve.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn other(id: u32) -> u32 {
    id
}

#[deadline(budget = "899ms", reserve = "100ms")]
async fn share(id: u32) -> Result<u32, Stopped> {
    #[budget("50%")]
    let id = other(id).await;
    load(id).await
}

fn main() {}
