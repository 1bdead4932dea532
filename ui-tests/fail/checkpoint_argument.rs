//! `off` is all that it takes.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[checkpoint(never)]
    for _ in 0..id {}
    Ok(id)
}

fn main() {}
