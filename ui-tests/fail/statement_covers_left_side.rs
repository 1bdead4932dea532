//! On an assignment it would attach to the left side alone.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    let mut a = 0;
    #[budget("10ms")]
    a = fetch(id).await?;
    Ok(a)
}

fn main() {}
