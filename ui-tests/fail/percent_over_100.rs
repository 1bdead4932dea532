//! More than everything that is left.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "120%")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
