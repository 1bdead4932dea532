//! A callee that may take more than there is does not fit, whatever it plans.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "900ms", plan = "10ms")]
async fn slow() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "1s", reserve = "100ms")]
async fn caller() -> Result<u32, Stopped> {
    slow().await
}

fn main() {}
