//! A later call says which future it is.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

fn same<T>(_: &mut Vec<T>, _: &mut Vec<T>) {}

#[deadline(budget = "700ms")]
async fn inferred(id: u32) -> Result<u32, Stopped> {
    let mut waiting = Vec::new();
    while let Some(next) = waiting.pop() {
        let _ = next.await;
    }
    let mut others = vec![load(id)];
    same(&mut waiting, &mut others);
    save(id).await
}

fn main() {}
