//! A `const fn`.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
const fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
