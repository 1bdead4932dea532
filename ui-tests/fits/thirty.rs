//! Thirty calls.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "2999ms")]
async fn thirty() -> Result<u32, Stopped> {
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await?;
    ping().await
}

fn main() {}
