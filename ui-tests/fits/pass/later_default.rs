//! The type that `Default` and `Into` make is known behind the await.
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use deadline_runtime::{Budgeted, Millis, Stopped, deadline};

#[deadline(budget = "400ms")]
async fn load(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

#[deadline(budget = "300ms")]
async fn save(id: u32) -> Result<u32, Stopped> {
    Ok(id)
}

struct Load(Ready<u32>);

impl Future for Load {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl Budgeted for Load {
    type Budget = Millis<400>;
}

impl Default for Load {
    fn default() -> Self {
        Self(ready(1))
    }
}

impl From<u32> for Load {
    fn from(id: u32) -> Self {
        Self(ready(id))
    }
}

fn is_load(_: &Load) {}

#[deadline(budget = "1100ms")]
async fn made(id: u32) -> Result<u32, Stopped> {
    let mut first = Default::default();
    let id = save((&mut first).await + id).await?;
    is_load(&first);
    let mut second = id.into();
    let _ = (&mut second).await;
    is_load(&second);
    Ok(id)
}

fn main() {}
