//! A module that is not there.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", crate = crate::facade)]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[budget("10ms")]
    let id = std::future::ready(id).await;
    for _ in 0..id {
        std::future::ready(id).await;
    }
    Ok(id)
}

fn main() {}
