//! What is awaited in an `async` block without `move` does not count; the block around which it is awaited does not either.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "699ms")]
async fn nested(id: u32) -> Result<u32, Stopped> {
    let first = async { load(id).await };
    let both = async {
        let id = first.await?;
        load(id).await
    };
    both.await?;
    load(id).await?;
    save(id).await
}

fn main() {}
