//! Attributes on awaited expression statements under `cleanup`.
#![deny(warnings)]
use deadline_runtime::{Stopped, deadline};

async fn fetch(n: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(n)).await
}

#[deadline(budget = "1s", cleanup = "10ms")]
async fn load(n: u32) -> Result<u32, Stopped> {
    #[allow(unused_must_use)]
    fetch(n).await;
    #[cfg(any())]
    missing().await;
    fetch(n).await
}

fn main() {
    drop(load(1));
}
