//! A fallback of a statement that continues the loop around it.
#![deny(warnings)]
use deadline_runtime::{Stopped, deadline};

async fn fetch(n: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(n)).await
}

#[deadline(budget = "1s")]
async fn load(n: u32) -> Result<u32, Stopped> {
    let mut sum = 0;
    for i in 0..n {
        #[budget("10ms", fallback = continue)]
        let i = fetch(i).await?;
        sum += i;
    }
    Ok(sum)
}

fn main() {
    drop(load(1));
}
