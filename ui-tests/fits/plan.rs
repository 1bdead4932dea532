//! With a `plan` that is what counts, three times here.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "1s", plan = "334ms")]
async fn usually() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "1s")]
async fn three() -> Result<u32, Stopped> {
    Ok(usually().await? + usually().await? + usually().await?)
}

fn main() {}
