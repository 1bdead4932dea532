//! A branch of a `join!` whose type is known behind it.
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
async fn joined(id: u32) -> Result<u32, Stopped> {
    let mut next = None;
    for round in 0..id {
        if let Some(next) = next.take() {
            let _ = tokio::join!(next, save(round));
        }
        next = Some(load(round));
    }
    save(id).await
}

fn main() {}
