//! A type parameter may say what it declares.
use deadline_runtime::{Budgeted, Millis, Stopped, deadline};

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "700ms")]
async fn both<F>(first: F) -> Result<u32, Stopped>
where
    F: Future<Output = u32> + Budgeted<Budget = Millis<400>>,
{
    let id = first.await;
    save(id).await
}

fn main() {}
