#![deny(deprecated)]
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", audit)]
async fn sleeps(id: u32) -> Result<u32, Stopped> {
    std::thread::sleep(std::time::Duration::from_millis(1));
    tokio::task::yield_now().await;
    Ok(id)
}

fn main() {}
