//! A trait's method without a body.
use deadline_runtime::{Stopped, deadline};

trait Load {
    #[deadline(budget = "1s")]
    async fn load(&self, id: u32) -> Result<u32, Stopped>;
}

fn main() {}
