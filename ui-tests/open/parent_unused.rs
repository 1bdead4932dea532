//! An explicit parent that only the attribute uses.
#![deny(warnings)]
use deadline_runtime::{Context, Stopped, deadline};

async fn fetch(n: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(n)).await
}

#[deadline(budget = "1s", parent = cx)]
async fn load(cx: &Context, n: u32) -> Result<u32, Stopped> {
    fetch(n).await
}

fn main() {
    drop(load(&Context::current(), 1));
}
