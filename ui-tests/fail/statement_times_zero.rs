//! A loop that never runs needs no budget.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    let mut sum = 0;
    #[budget("50ms", times = 0)]
    for _ in 0..9 {
        sum += fetch(id).await?;
    }
    Ok(sum)
}

fn main() {}
