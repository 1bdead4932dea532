//! The same in an impl with a const parameter, of the type that figures have.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

struct Shards<const N: u64>([u32; 2]);

impl<const N: u64> Shards<N> {
    #[deadline(budget = "699ms")]
    async fn all(&self) -> Result<u32, Stopped> {
        save(load(self.0[0]).await?).await
    }
}

fn main() {}
