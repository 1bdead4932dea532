//! A budget is not negative.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "-5ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
