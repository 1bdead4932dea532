//! What is measured, and the yardstick of each.

use std::future::Future;
use std::hint::black_box;
use std::task::Context;
use std::time::Duration;

use deadline_benches::{Pend, drive};
use deadline_runtime::{Stopped, deadline};
use tokio_util::sync::CancellationToken;

pub(crate) const LONG: Duration = Duration::from_secs(60);

#[deadline(budget = "60s")]
pub(crate) async fn outermost(pends: bool) -> Result<(), Stopped> {
    Pend(u32::from(pends)).await;
    Ok(())
}

macro_rules! nested {
    ($ours:ident, $theirs:ident => $our_inner:ident, $their_inner:ident) => {
        #[deadline(budget = "60s")]
        pub(crate) async fn $ours(pends: bool) -> Result<(), Stopped> {
            $our_inner(pends).await
        }
        pub(crate) async fn $theirs(pends: bool) {
            let _ = tokio::time::timeout(LONG, $their_inner(pends)).await;
        }
    };
}

pub(crate) async fn their1(pends: bool) {
    let _ = tokio::time::timeout(LONG, Pend(u32::from(pends))).await;
}
nested!(our2, their2 => outermost, their1);
nested!(our3, their3 => our2, their2);
nested!(our4, their4 => our3, their3);
nested!(our5, their5 => our4, their4);
nested!(our6, their6 => our5, their5);
nested!(our7, their7 => our6, their6);
nested!(our8, their8 => our7, their7);

/// The deadline came in with the request.
#[deadline]
pub(crate) async fn known(pends: bool) -> Result<(), Stopped> {
    Pend(u32::from(pends)).await;
    Ok(())
}

/// What people write by hand.
pub(crate) async fn by_hand(parent: &CancellationToken, pends: bool) {
    let token = parent.child_token();
    let _ = token
        .run_until_cancelled(tokio::time::timeout(LONG, Pend(u32::from(pends))))
        .await;
}

#[deadline(budget = "60s")]
pub(crate) async fn ten() -> Result<(), Stopped> {
    for _ in 0..10 {
        outermost(true).await?;
    }
    Ok(())
}

pub(crate) async fn ten_timeouts() {
    for _ in 0..10 {
        their1(true).await;
    }
}

fn step(sum: u64) -> u64 {
    black_box(sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7))
}

pub(crate) const ITERATIONS: u32 = 1_000;

#[deadline(budget = "60s")]
pub(crate) async fn checked() -> Result<u64, Stopped> {
    let mut sum = 0;
    for _ in 0..ITERATIONS {
        sum = step(sum);
    }
    Ok(sum)
}

#[deadline(budget = "60s")]
pub(crate) async fn unchecked() -> Result<u64, Stopped> {
    let mut sum = 0;
    #[checkpoint(off)]
    for _ in 0..ITERATIONS {
        sum = step(sum);
    }
    Ok(sum)
}

/// Runs one operation to its end.
pub(crate) fn run<T>(cx: &mut Context<'_>, future: impl Future<Output = T>) {
    drop(drive(cx, future));
}
