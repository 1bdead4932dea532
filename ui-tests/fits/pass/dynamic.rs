//! Behind `dyn`, as `#[async_trait]` makes it, nothing is seen; what is awaited beside it counts.
use std::pin::Pin;

use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[async_trait::async_trait]
trait Store: Sync {
    async fn get(&self, id: u32) -> Result<u32, Stopped>;
}

#[deadline(budget = "700ms")]
async fn both(store: &dyn Store) -> Result<u32, Stopped> {
    let id = store.get(1).await?;
    let later: Pin<Box<dyn Future<Output = Result<u32, Stopped>> + Send>> = Box::pin(load(id));
    load(later.await?).await?;
    save(id).await
}

fn main() {}
