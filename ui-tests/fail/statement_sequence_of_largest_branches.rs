//! Of branches the largest counts.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    if id > 1 {
        #[budget("100ms")]
        fetch(id).await?;
    } else {
        #[budget("300ms")]
        fetch(id).await?;
    }
    #[budget("101ms")]
    let b = fetch(id).await?;
    Ok(b)
}

fn main() {}
