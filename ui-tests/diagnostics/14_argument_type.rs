//! A call with an argument of another type.
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
    fetch(n).await
}

fn main() {
    drop(fetch(1));
    drop(load("text"));
}
