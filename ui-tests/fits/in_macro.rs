//! So does one in the arguments of a well-known macro.
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
async fn printed(id: u32) -> Result<String, Stopped> {
    Ok(format!("{} {}", load(id).await?, save(id).await?))
}

fn main() {}
