//! A unit that does not exist.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "2 fortnights")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
