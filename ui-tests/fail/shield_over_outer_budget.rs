//! A shield that is longer than the budget around it.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[budget("10ms")]
    #[shield("20ms")]
    let id = fetch(id).await?;
    #[budget("10ms")]
    {
        #[shield("11ms")]
        fetch(id).await?;
    }
    Ok(id)
}

fn main() {}
