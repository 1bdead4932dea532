//! Fallback closures with too many and too few arguments.
use deadline_runtime::deadline;

#[deadline(budget = "1s", fallback = |stopped, more| 0)]
async fn load(id: u32) -> u32 {
    #[budget("10ms", fallback = || 0)]
    let id = std::future::ready(id).await;
    id
}

fn main() {}
