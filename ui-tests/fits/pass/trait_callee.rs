//! A call to the method of a known type knows its figure.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

trait Store {
    async fn get(&self, id: u32) -> Result<u32, Stopped>;
}

struct Database;

impl Store for Database {
    #[deadline(budget = "400ms")]
    async fn get(&self, id: u32) -> Result<u32, Stopped> {
        Ok(id)
    }
}

#[deadline(budget = "700ms")]
async fn both(database: &Database) -> Result<u32, Stopped> {
    database.get(1).await?;
    save(1).await
}

fn main() {}
