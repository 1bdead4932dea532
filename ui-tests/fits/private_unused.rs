//! A private function that nobody calls.
#![allow(dead_code)]
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

struct Nobody;

impl Nobody {
    #[deadline(budget = "699ms")]
    async fn unused(&self) -> Result<u32, Stopped> {
        load(1).await?;
        save(1).await
    }
}

fn main() {}
