//! A whole impl.
use deadline_runtime::{Stopped, deadline};

struct Load;

#[deadline(budget = "1s")]
impl Load {
    async fn load(&self) -> Result<u32, Stopped> {
        Ok(1)
    }
}

fn main() {}
