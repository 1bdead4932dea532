//! And the reserve, which has to leave something.
use deadline_runtime::{Stopped, deadline};

const KEPT: std::time::Duration = std::time::Duration::from_millis(100);

#[deadline(budget = "100ms", reserve = KEPT)]
async fn keeps() -> Result<u32, Stopped> {
    Ok(1)
}

fn main() {}
