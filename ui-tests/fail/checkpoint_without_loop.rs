//! A checkpoint belongs on a loop.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[checkpoint(off)]
    let a = fetch(id).await?;
    Ok(a)
}

fn main() {}
