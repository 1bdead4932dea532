//! A fraction of a millisecond cannot be had.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "0.5ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
