//! The reserve is kept from the calls.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "799ms", reserve = "100ms")]
async fn both(id: u32) -> Result<u32, Stopped> {
    Ok(load(id).await? + save(id).await?)
}

fn main() {}
