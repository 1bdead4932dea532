//! Two mutable borrows at once.
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
async fn load(n: u32) -> Result<u32, Failure> {
    let mut list = vec![n];
    let first = &mut list;
    let second = &mut list;
    first.push(fetch(n).await?);
    second.push(1);
    Ok(n)
}

fn main() {
    drop(fetch(1));
    drop(load(1));
}
