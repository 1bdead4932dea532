//! An async closure, which stable Rust does not let an attribute see.
use deadline_runtime::{Stopped, deadline};

fn load() {
    let load = #[deadline(budget = "1s")]
    async |id: u32| Ok::<u32, Stopped>(id);
    drop(load);
}

fn main() {}
