//! With `times` it counts as often as that.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn other(id: u32) -> u32 {
    id
}

#[deadline(budget = "900ms")]
async fn pages(id: u32) -> Result<u32, Stopped> {
    #[budget("50ms", times = 10)]
    for page in 0..10 {
        other(page).await;
    }
    load(id).await
}

fn main() {}
