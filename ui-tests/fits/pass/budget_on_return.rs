//! Also where the statement leaves the function.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "500ms")]
async fn leaves(id: u32) -> Result<u32, Stopped> {
    ping().await?;
    if id == 0 {
        #[budget("350ms")]
        return load(id).await;
    }
    load(id).await
}

fn main() {}
