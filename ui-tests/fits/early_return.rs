//! A branch that returns does not go on.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "399ms")]
async fn cached(id: u32) -> Result<u32, Stopped> {
    if id == 0 {
        return load(id).await;
    }
    save(id).await
}

fn main() {}
