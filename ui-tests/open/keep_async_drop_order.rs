//! `_` and partly bound parameters drop in their order under `keep_async`.
#![deny(warnings)]
use deadline_runtime::{Stopped, deadline};

async fn fetch(n: u32) -> Result<u32, Stopped> {
    std::future::ready(Ok(n)).await
}

use std::cell::RefCell;

struct Noisy<'a>(u8, &'a RefCell<Vec<u8>>);

impl Drop for Noisy<'_> {
    fn drop(&mut self) {
        self.1.borrow_mut().push(self.0);
    }
}

#[deadline(budget = "1s", keep_async)]
async fn ours(first: Noisy<'_>, _: Noisy<'_>, third: Noisy<'_>) -> Result<u32, Stopped> {
    let _ = (&first, &third);
    fetch(1).await
}

async fn plain(first: Noisy<'_>, _: Noisy<'_>, third: Noisy<'_>) -> Result<u32, Stopped> {
    let _ = (&first, &third);
    fetch(1).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let order = RefCell::default();
    let noisy = |n| Noisy(n, &order);
    plain(noisy(1), noisy(2), noisy(3)).await.unwrap();
    let expected = order.take();
    ours(noisy(1), noisy(2), noisy(3)).await.unwrap();
    assert_eq!(order.take(), expected);
}
