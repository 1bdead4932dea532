//! A constant of more than a year, in a statement.
use deadline_runtime::{Stopped, deadline};
use std::time::Duration;

const FINE: Duration = Duration::from_secs(366 * 24 * 60 * 60);

#[deadline(budget = "1s")]
async fn load(id: u32) -> Result<u32, Stopped> {
    #[budget(FINE)]
    let id = load_more(id).await?;
    Ok(id)
}

async fn load_more(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

fn main() {}
