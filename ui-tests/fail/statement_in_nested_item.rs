//! In a nested function nobody reads it.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    async fn inner(id: u32) -> Result<u32, Stopped> {
        #[budget("10ms")]
        let a = fetch(id).await?;
        Ok(a)
    }
    inner(id).await
}

fn main() {}
