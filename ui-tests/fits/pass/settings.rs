//! With a parent, a binding, a boxed body and no checkpoints.
use deadline_runtime::{Context, Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "700ms", parent = cx, boxed, checkpoints = "off")]
async fn both(cx: &Context, id: u32) -> Result<u32, Stopped> {
    let _ = cx.remaining();
    load(id).await?;
    save(id).await
}

fn main() {}
