//! On an async function it is `#[deadline]` that is wanted.
use deadline_runtime::{Stopped, checkpoint};

#[checkpoint]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn main() {}
