//! [`Spawned`]: an attempt in a task of its own.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use crate::stop::Stopped;
use crate::tasks::Task;

/// The result of an attempt of [`Hedge::run_spawned`](super::Hedge::run_spawned).
///
/// The task belongs to the attempt's scope, which joins it when it ends.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Spawned<T, E> {
    task: Task<Result<Result<T, E>, Stopped>>,
    of_stop: fn(Stopped) -> E,
}

impl<T, E> Spawned<T, E> {
    pub(super) fn new(
        task: Task<Result<Result<T, E>, Stopped>>,
        of_stop: fn(Stopped) -> E,
    ) -> Self {
        Self { task, of_stop }
    }
}

impl<T, E> Future for Spawned<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let of_stop = self.of_stop;
        Pin::new(&mut self.task)
            .poll(cx)
            .map(|joined| match joined {
                Ok(Ok(ended)) => ended,
                Ok(Err(stopped)) | Err(stopped) => Err(of_stop(stopped)),
            })
    }
}

impl<T, E> fmt::Debug for Spawned<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spawned").field(&self.task).finish()
    }
}
