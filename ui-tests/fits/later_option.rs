//! What an `Option` holds is known behind the await.
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
async fn taken(id: u32) -> Result<u32, Stopped> {
    let mut next = None;
    for round in 0..id {
        if let Some(ready) = next.take().filter(|_| round > 0) {
            let _ = ready.await;
        }
        next = Some(load(round));
    }
    save(id).await
}

fn main() {}
