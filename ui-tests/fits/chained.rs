//! What is called on an awaited value is named by both calls.
use deadline_runtime::{Stopped, deadline};

struct Client;

impl Client {
    #[deadline(budget = "200ms")]
    async fn orders(&self) -> Result<u32, Stopped> {
        Ok(1)
    }
}

#[deadline(budget = "100ms")]
async fn connect() -> Result<Client, Stopped> {
    Ok(Client)
}

#[deadline(budget = "299ms")]
async fn chained() -> Result<u32, Stopped> {
    connect().await?.orders().await
}

fn main() {}
