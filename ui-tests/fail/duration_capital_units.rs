//! Units are in small letters.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "450MS")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
