//! A constant that is not a whole number of milliseconds.
use deadline_runtime::{Stopped, deadline};
use std::time::Duration;

const FINE: Duration = Duration::from_micros(1500);

#[deadline(budget = FINE)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
