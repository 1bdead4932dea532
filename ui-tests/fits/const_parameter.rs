//! A function with const parameters awaits what declares plain figures.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "699ms")]
async fn all<const N: usize, const CHECKED: bool>(ids: [u32; N]) -> Result<u32, Stopped> {
    let mut sum = 0;
    if CHECKED {
        sum += save(1).await?;
    }
    for id in ids {
        sum += load(id).await?;
    }
    Ok(sum)
}

fn main() {}
