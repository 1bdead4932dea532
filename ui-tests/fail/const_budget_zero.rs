//! A constant below the resolution.
use deadline_runtime::{Stopped, deadline};
use std::time::Duration;

const FINE: Duration = Duration::ZERO;

#[deadline(budget = FINE)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
