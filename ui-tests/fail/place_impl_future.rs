//! A function that returns a future by hand.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s")]
fn load(id: u32) -> impl Future<Output = Result<u32, Stopped>> {
    async move { Ok(id) }
}

fn main() {}
