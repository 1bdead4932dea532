//! The only await is not this function's.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[budget("10ms")]
    let call = || async { fetch(1).await };
    call().await?;
    Ok(id)
}

fn main() {}
