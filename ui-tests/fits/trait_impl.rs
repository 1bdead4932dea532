//! The methods of a trait's impl.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

trait Store {
    async fn get(&self, id: u32) -> Result<u32, Stopped>;
}

struct Database;

impl Store for Database {
    #[deadline(budget = "699ms")]
    async fn get(&self, id: u32) -> Result<u32, Stopped> {
        load(id).await?;
        save(id).await
    }
}

fn main() {}
