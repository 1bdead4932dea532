//! On an operator it would attach to the first operand alone.
use deadline_runtime::{Stopped, deadline};

async fn fetch(id: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(id)).await
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    let sum = #[budget("10ms")] fetch(id).await? + fetch(id).await?;
    Ok(sum)
}

fn main() {}
