//! Together they leave nothing.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "100ms", reserve = "50ms", cleanup = "50ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
