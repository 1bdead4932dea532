//! [`Spawned`]: a branch in a task of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use crate::figure::Budgeted;
use crate::tasks::{Group, TaskError};

pin_project! {
    /// The future of a branch that is [`spawned`](super::Branch::spawned): a task in a group of its own, which begins when the branch
    /// does and ends with it.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Spawned<F>
    where
        F: Future,
    {
        // `None` when the task has been spawned. It is not pinned before.
        future: Option<F>,
        group: Option<Group<F::Output>>,
    }
}

impl<F: Future> Spawned<F> {
    pub(super) const fn new(future: F) -> Self {
        Self {
            future: Some(future),
            group: None,
        }
    }
}

impl<F> Future for Spawned<F>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if let Some(future) = this.future.take() {
            let mut group = Group::new();
            group.spawn(|_| future);
            *this.group = Some(group);
        }
        let Some(group) = this.group else {
            return Poll::Pending;
        };
        match task::ready!(group.poll_join_next(cx)) {
            Some(Ok(value)) => Poll::Ready(value),
            Some(Err(TaskError::Panicked(panicked))) => panicked.resume(),
            // What stopped the task has stopped the branch, whose scope makes the error.
            Some(Err(_)) | None => Poll::Pending,
        }
    }
}

impl<F: Future + Budgeted> Budgeted for Spawned<F> {
    type Budget = F::Budget;
}
