//! A budget may be a constant.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

mod budgets {
    use std::time::Duration;
    pub(super) const BOTH: Duration = Duration::from_millis(699);
    pub(super) const SAVE: Duration = Duration::from_millis(300);
}

#[deadline(budget = budgets::SAVE)]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = budgets::BOTH)]
async fn both(id: u32) -> Result<u32, Stopped> {
    load(id).await?;
    save(id).await
}

fn main() {}
