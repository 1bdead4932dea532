//! A future in a variable is awaited later.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "699ms")]
async fn later(id: u32) -> Result<u32, Stopped> {
    let first = load(id);
    let second = save(id);
    Ok(second.await? + first.await?)
}

fn main() {}
