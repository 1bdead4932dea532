//! What a closure awaits counts where its future is awaited, if it says so.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "399ms")]
async fn through(id: u32) -> Result<u32, Stopped> {
    let make = |id| load(id);
    make(id).await
}

fn main() {}
