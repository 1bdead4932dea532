//! What the shapes share; nothing in here is a shape.
use std::{
    future::Future,
    num::ParseIntError,
    sync::{Arc, Mutex},
    task::{Context, Waker},
};

/// The error of a service: takes a stop and what its own code returns.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    Stopped,
    Parse,
    Refused(&'static str),
}

impl From<deadline_runtime::Stopped> for Failure {
    fn from(_: deadline_runtime::Stopped) -> Self {
        Self::Stopped
    }
}

impl From<ParseIntError> for Failure {
    fn from(_: ParseIntError) -> Self {
        Self::Parse
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Failure {}

/// An await that is pending once.
pub async fn tick() {
    tokio::task::yield_now().await;
}

/// An await that is pending once and hands its value through.
pub async fn later<T: Send>(value: T) -> T {
    tick().await;
    value
}

/// Runs a future on a runtime of its own with the timers a scope needs.
pub fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a current-thread runtime")
        .block_on(future)
}

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    pub fn note(&self, event: &'static str) {
        self.0.lock().unwrap().push(event);
    }

    pub fn noisy(&self, name: &'static str) -> Noisy {
        Noisy {
            name,
            log: self.clone(),
        }
    }

    pub fn events(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }
}

/// Notes its name when it is dropped.
pub struct Noisy {
    pub name: &'static str,
    log: Log,
}

impl Drop for Noisy {
    fn drop(&mut self) {
        self.log.note(self.name);
    }
}

/// The events of a call that runs to its end.
pub fn finished<F: Future>(call: impl FnOnce(&Log) -> F) -> Vec<&'static str> {
    let log = Log::default();
    run(async {
        let future = call(&log);
        log.note("created");
        future.await;
    });
    log.note("returned");
    log.events()
}

/// The events of a call whose future is dropped before its first poll.
pub fn unpolled<F: Future>(call: impl FnOnce(&Log) -> F) -> Vec<&'static str> {
    let log = Log::default();
    run(async {
        let future = call(&log);
        log.note("created");
        drop(future);
    });
    log.note("gone");
    log.events()
}

/// The events of a call whose future is dropped at its first await.
pub fn abandoned<F: Future>(call: impl FnOnce(&Log) -> F) -> Vec<&'static str> {
    let log = Log::default();
    run(async {
        let mut future = Box::pin(call(&log));
        log.note("created");
        let pending = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending();
        log.note(if pending { "pending" } else { "ready" });
        drop(future);
    });
    log.note("gone");
    log.events()
}

/// The same function twice: with the attribute and as plain Rust.
macro_rules! twin {
    ($annotated:ident, $plain:ident, $($function:tt)*) => {
        #[deadline(budget = "1s", fallback = panic!("stopped"))]
        async fn $annotated $($function)*

        async fn $plain $($function)*
    };
}

/// Asserts that both of a twin drop in the same order: finished, unpolled and abandoned at the first await.
macro_rules! same_drops {
    ($annotated:expr, $plain:expr) => {{
        assert_eq!(
            $crate::support::finished($annotated),
            $crate::support::finished($plain),
            "run to the end"
        );
        assert_eq!(
            $crate::support::unpolled($annotated),
            $crate::support::unpolled($plain),
            "dropped before the first poll"
        );
        assert_eq!(
            $crate::support::abandoned($annotated),
            $crate::support::abandoned($plain),
            "dropped at the first await"
        );
    }};
}
