//! And for those of `futures`.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "400ms")]
async fn together(id: u32) -> Result<u32, Stopped> {
    let (left, right) = futures::join!(load(id), save(id));
    Ok(left? + right?)
}

fn main() {}
