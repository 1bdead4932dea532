//! The value itself is called no future.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
async fn load(id: u32) -> Result<u32, Stopped> {
    let id = id.await;
    Ok(id)
}

fn main() {}
