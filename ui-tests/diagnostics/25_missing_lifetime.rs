//! A lifetime that cannot be elided.
use deadline_runtime::deadline;

struct Failure;

impl From<deadline_runtime::Stopped> for Failure {
    fn from(_: deadline_runtime::Stopped) -> Self {
        Self
    }
}

async fn fetch(n: u32) -> Result<u32, Failure> {
    std::future::ready(Ok(n)).await
}

#[deadline(budget = "1s")]
async fn load(a: &str, b: &str) -> Result<&str, Failure> {
    fetch(1).await?;
    Ok(if a.is_empty() { a } else { b })
}

fn main() {
    drop(fetch(1));
    drop(load("", ""));
}
