//! Awaits under `#[cfg]`: the one that is compiled counts.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "700ms")]
async fn conditional(id: u32) -> Result<u32, Stopped> {
    #[cfg(any())]
    let id = load(id).await?;
    #[cfg(not(any()))]
    let id = save(id).await?;
    {
        #[cfg(any())]
        load(id).await?;
        load(id).await
    }
}

fn main() {}
