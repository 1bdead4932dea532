//! A bare number has no unit either.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = 450)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
