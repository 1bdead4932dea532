//! A parent that is no context.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", parent = cx)]
async fn load(cx: u32) -> Result<u32, Stopped> {
    let _ = cx;
    Ok(1)
}

fn main() {}
