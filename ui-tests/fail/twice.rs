//! Two of our attributes on one function.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
#[deadline(budget = "2s")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
