//! Traits of the user's for every type, with our names.
use std::future::ready;

use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

trait Blanket: Sized {
    fn gate(self) -> Self {
        self
    }
    fn gate_later(self) -> Self {
        self
    }
    fn counted(self) -> Self {
        self
    }
    fn meets(self) -> Self {
        self
    }
    fn deadline_gate(self) -> Self {
        self
    }
    fn deadline_counts(self) -> Self {
        self
    }
}

impl<T> Blanket for T {}

trait Meets<M> {
    type Gated;
}

impl<F> Meets<u8> for F {
    type Gated = F;
}

#[deadline(budget = "699ms")]
async fn both(id: u32) -> Result<u32, Stopped> {
    let id = load(ready(id).await).await?;
    let saved = save(id);
    saved.await.gate().counted().meets()
}

fn main() {}
