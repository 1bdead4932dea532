//! A callee's own reserve and cleanup are inside its budget.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "400ms", reserve = "100ms", cleanup = "100ms")]
async fn tidy() -> Result<u32, Stopped> {
    ping().await
}

#[deadline(budget = "500ms")]
async fn both() -> Result<u32, Stopped> {
    Ok(tidy().await? + ping().await?)
}

fn main() {}
