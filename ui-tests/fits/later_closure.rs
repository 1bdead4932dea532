//! The return type of a closure is known behind the await.
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
async fn called(id: u32) -> Result<u32, Stopped> {
    let mut make = None;
    for round in 0..id {
        if let Some(make) = make {
            let make: fn(_) -> _ = make;
            let _ = make(round).await;
        }
        make = Some((|id| load(id)) as fn(u32) -> _);
    }
    save(id).await
}

fn main() {}
