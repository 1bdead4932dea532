//! A crate that is not there.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", crate = ::nowhere)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
