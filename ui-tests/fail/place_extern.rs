//! An `extern` function.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
async extern "C" fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
