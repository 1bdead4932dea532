//! A constant that is no duration.
use deadline_runtime::{Stopped, deadline};

const FAST: u64 = 500;

#[deadline(budget = FAST)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
