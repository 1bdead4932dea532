//! Running a future to its end inside one poll.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Runtime};

/// Pending so often, then ready; it leaves no waker behind.
pub struct Pend(pub u32);

impl Future for Pend {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.0.checked_sub(1) {
            None => Poll::Ready(()),
            Some(left) => {
                self.0 = left;
                Poll::Pending
            }
        }
    }
}

/// Polls until ready, so that the polls are measured and no scheduler.
pub fn drive<F: Future>(cx: &mut Context<'_>, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return value;
        }
    }
}

/// A current-thread runtime with time.
pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}
