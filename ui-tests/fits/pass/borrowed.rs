//! And a borrowed one.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "700ms")]
async fn borrows(id: u32) -> Result<u32, Stopped> {
    let mut first = Box::pin(load(id));
    (&mut first).await?;
    save(id).await
}

fn main() {}
