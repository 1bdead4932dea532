//! A constant that does not exist.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = budgets::FAST)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
