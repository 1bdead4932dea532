//! The same for `try_join!`.
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

#[deadline(budget = "499ms")]
async fn together(id: u32) -> Result<u32, Stopped> {
    let (left, right) = tokio::try_join!(save(id), load(id))?;
    Ok(left + right + ping().await?)
}

fn main() {}
