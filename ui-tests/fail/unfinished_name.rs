//! The user is still typing the name.
use deadline_runtime::{Stopped, deadline};

#[deadline(budg)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
