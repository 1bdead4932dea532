//! More than a year is a mistake.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "9000h")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
