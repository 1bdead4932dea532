//! An await inside a shielded expression.
use deadline_runtime::{Stopped, deadline};

async fn fetch(n: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(n)).await
}

#[deadline(budget = "1s")]
async fn load(n: u32) -> Result<u32, Stopped> {
    #[shield("50ms")]
    let n = fetch(fetch(n).await?).await?;
    Ok(n)
}

fn main() {
    drop(load(1));
}
