//! A constant that is not a whole number of milliseconds.
use deadline_runtime::{Stopped, deadline};

const FAST: std::time::Duration = std::time::Duration::from_micros(1500);

#[deadline(budget = FAST)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
