//! A budget inside a shield.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[shield("50ms")]
    {
        #[budget("10ms")]
        fetch(id).await?;
    }
    Ok(id)
}

fn main() {}
