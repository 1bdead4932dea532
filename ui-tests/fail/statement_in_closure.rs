//! In a closure nobody reads it.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    let call = async |n: u32| {
        #[budget("10ms")]
        let a = fetch(n).await?;
        Ok::<u32, Stopped>(a)
    };
    call(id).await
}

fn main() {}
