//! What follows a `let … else` comes after its value, the `else` instead of it.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "700ms")]
async fn refutable(id: u32) -> Result<u32, Stopped> {
    let Ok(id) = load(id).await else {
        return ping().await;
    };
    save(id).await
}

fn main() {}
