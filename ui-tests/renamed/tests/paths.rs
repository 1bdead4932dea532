//! The runtime under another name: renamed, re-exported by a facade, by a module.
#![deny(warnings, clippy::pedantic, clippy::nursery)]
#![allow(clippy::redundant_pub_crate)]
use deadline_ui_tests_renamed::{Client, dl::deadline, load};

mod inner {
    pub(crate) use deadline_ui_tests_renamed::dl as runtime;
}

#[deadline(budget = "1s", crate = deadline_ui_tests_renamed::dl)]
async fn through_facade(n: u32) -> Result<u32, inner::runtime::Stopped> {
    for _ in 0..n {
        tokio::task::yield_now().await;
    }
    load(n).await
}

#[deadline(budget = "1s", crate = crate::inner::runtime)]
async fn through_module(n: u32) -> Result<u32, inner::runtime::Stopped> {
    tokio::task::yield_now().await;
    through_facade(n).await
}

#[deadline(budget = "1s", crate = ::dl, fallback = 0)]
async fn by_name(n: u32) -> u32 {
    tokio::task::yield_now().await;
    through_module(n).await.unwrap_or(0)
}

#[tokio::test]
#[deadline(budget = "1s", crate = ::dl)]
async fn every_path() -> Result<(), inner::runtime::Stopped> {
    assert_eq!(by_name(2).await, 2);
    let mut client = Client::default();
    assert_eq!(client.call(2).await?, 2);
    assert_eq!(client.text("calls").await, "calls 2");
    Ok(())
}
