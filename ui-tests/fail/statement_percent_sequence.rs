//! Percentages in sequence are at most 100.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[budget("60%")]
    let a = fetch(id).await?;
    #[budget("41%")]
    let b = fetch(id).await?;
    Ok(a + b)
}

fn main() {}
