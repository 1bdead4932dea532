//! A budget that is no duration.
use deadline_runtime::{Budget, Stopped, deadline};

const INHERITED: Budget = Budget::inherited();

#[deadline(budget = INHERITED)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
