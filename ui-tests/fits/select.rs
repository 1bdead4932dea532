//! What is in a `select!` or in an unknown macro does not count; what is awaited beside it does.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

macro_rules! unknown {
    ($future:expr) => {
        $future.await
    };
}

#[deadline(budget = "699ms")]
async fn selects(id: u32) -> Result<u32, Stopped> {
    tokio::select! {
        biased;
        first = load(id) => { first?; }
        second = save(id) => { second?; }
    }
    unknown!(load(id))?;
    load(id).await?;
    save(id).await
}

fn main() {}
