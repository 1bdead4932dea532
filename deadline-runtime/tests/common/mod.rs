//! What the attribute expands to, by hand, and small things every test needs.
#![allow(
    dead_code,
    unused_macros,
    unused_imports,
    unreachable_pub,
    missing_docs
)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::Duration;

pub use deadline_runtime::__rt as rt;

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A scope around a body: `scoped!(Millis<900>, "load".reserve(100), { … })`.
macro_rules! scoped {
    ($budget:ty, $name:literal $(. $figure:ident($($value:literal)?))*, $body:expr) => {{
        static SCOPE: common::rt::Spec<$budget> = common::rt::Spec::new($name)$(.$figure($($value)?))*;
        common::rt::Scoped::<_, $budget>::new(SCOPE.here(), async move { $body })
    }};
}

/// The same with a value to return when stopped.
macro_rules! scoped_or {
    ($budget:ty, $name:literal $(. $figure:ident($($value:literal)?))*, $fallback:expr, $body:expr) => {{
        static SCOPE: common::rt::Spec<$budget> = common::rt::Spec::new($name)$(.$figure($($value)?))*;
        common::rt::Scoped::<_, $budget, _>::with_fallback(SCOPE.here(), async move { $body }, $fallback)
    }};
}

/// The same under an explicit parent.
macro_rules! scoped_under {
    ($parent:expr, $budget:ty, $name:literal $(. $figure:ident($($value:literal)?))*, $body:expr) => {{
        static SCOPE: common::rt::Spec<$budget> = common::rt::Spec::new($name)$(.$figure($($value)?))*;
        common::rt::Scoped::<_, $budget>::new(SCOPE.under(&$parent), async move { $body })
    }};
}

/// An await as the attribute writes it.
macro_rules! await_ {
    ($future:expr) => {
        common::rt::gate_later(common::rt::nothing(), $future, 0).await
    };
}

/// An await of a function with `cleanup`.
macro_rules! guarded {
    ($future:expr) => {
        match common::rt::guard($future).await {
            Ok(value) => value,
            Err(stopped) => return common::rt::stop(stopped),
        }
    };
}

/// Counts how often it is woken.
#[derive(Default)]
pub struct Woken(AtomicUsize);

impl Woken {
    pub fn new() -> (Arc<Self>, Waker) {
        let woken = Arc::new(Self::default());
        (woken.clone(), Waker::from(woken))
    }

    pub fn times(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Polls once.
pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut TaskContext::from_waker(waker))
}

/// Polls once inside the running task, with its own waker.
pub async fn poll_here<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}
