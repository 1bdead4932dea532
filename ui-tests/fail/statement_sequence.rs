//! Statements in sequence add up.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[budget("200ms")]
    let a = fetch(id).await?;
    #[budget("150ms")]
    let b = fetch(id).await?;
    #[budget("51ms")]
    let c = fetch(id).await?;
    Ok(a + b + c)
}

fn main() {}
