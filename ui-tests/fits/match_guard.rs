//! Behind a guard comes its arm, or what is below it.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "599ms")]
async fn arms(id: u32) -> Result<u32, Stopped> {
    match id {
        0 => load(id).await,
        1 if ping().await.is_ok() => load(id).await,
        2 | 3 => load(id).await,
        _ if ping().await.is_ok() => Ok(id),
        id => load(id).await,
    }
}

fn main() {}
