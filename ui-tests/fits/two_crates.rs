//! A callee in another crate.
use deadline_runtime::{Stopped, deadline};
use deadline_ui_tests::remote;

#[deadline(budget = "1499ms")]
async fn both(id: u32) -> Result<u32, Stopped> {
    remote::load(id).await?;
    remote::Client.call().await
}

fn main() {}
