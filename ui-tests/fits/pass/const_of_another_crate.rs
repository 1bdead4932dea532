//! Budgets that another crate keeps, for the function and at a call.
use deadline_runtime::{Stopped, deadline};
use deadline_ui_tests::budgets;

async fn other(id: u32) -> u32 {
    id
}

#[deadline(budget = budgets::DB)]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = budgets::REQUEST, reserve = "150ms")]
async fn both(id: u32) -> Result<u32, Stopped> {
    load(id).await?;
    #[budget(budgets::CACHE)]
    let id = other(id).await;
    Ok(id)
}

fn main() {}
