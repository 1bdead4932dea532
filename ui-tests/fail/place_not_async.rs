//! A function that is not async.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
