//! A generic error without the bound.
use deadline_runtime::deadline;

#[deadline(budget = "1s")]
async fn load<E>(id: Result<u32, E>) -> Result<u32, E> {
    id
}

fn main() {}
