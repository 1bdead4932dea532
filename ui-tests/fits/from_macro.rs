//! A function that a macro writes.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

macro_rules! both {
    ($name:ident, $budget:literal, $first:ident, $second:ident) => {
        #[deadline(budget = $budget)]
        async fn $name(id: u32) -> Result<u32, Stopped> {
            $first(id).await?;
            $second(id).await
        }
    };
}

both!(both, "699ms", load, save);

fn main() {}
