#![deny(deprecated)]
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", audit)]
async fn computes(id: u32) -> Result<u32, Stopped> {
    Ok(id.pow(2))
}

fn main() {}
