//! `self.inner.get()` is not a call to `get` itself.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

struct Inner;

impl Inner {
    #[deadline(budget = "200ms")]
    async fn get(&self) -> Result<u32, Stopped> {
        Ok(1)
    }
}

struct Outer {
    inner: Inner,
}

impl Outer {
    #[deadline(budget = "299ms")]
    async fn get(&self) -> Result<u32, Stopped> {
        self.inner.get().await?;
        ping().await
    }
}

fn main() {}
