#![deny(deprecated)]
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", audit)]
async fn blocks(id: u32) -> Result<u32, Stopped> {
    tokio::task::yield_now().await;
    let other = futures::executor::block_on(async { 1 });
    Ok(id + other + tokio::runtime::Handle::current().block_on(async { 1 }))
}

fn main() {}
