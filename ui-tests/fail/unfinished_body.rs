//! Half a statement: one error, and the caller resolves.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
async fn load(id: u32) -> Result<u32, Stopped> {
    let a =
}

async fn caller() -> Result<u32, Stopped> {
    load(1).await
}

fn main() {}
