//! Outside of an annotated function nobody reads it.
use deadline_runtime::{Stopped, shield};

#[shield("10ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
