//! Each of three functions against the next one.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "150ms")]
async fn inner() -> Result<u32, Stopped> {
    ping().await
}

#[deadline(budget = "250ms")]
async fn middle() -> Result<u32, Stopped> {
    Ok(inner().await? + ping().await?)
}

#[deadline(budget = "1s")]
async fn outer() -> Result<u32, Stopped> {
    middle().await
}

fn main() {}
