//! So are the methods of a generic type.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

struct Cache<T>(T);

impl<T: Clone + Into<u32>> Cache<T> {
    #[deadline(budget = "700ms")]
    async fn both(&self) -> Result<u32, Stopped> {
        let id = load(self.0.clone().into()).await?;
        save(id).await
    }
}

fn main() {}
