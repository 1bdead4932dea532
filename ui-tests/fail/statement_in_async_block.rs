//! In an async block nobody reads it.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    let task = async {
        #[shield("10ms")]
        fetch(id).await
    };
    task.await
}

fn main() {}
