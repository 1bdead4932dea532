//! Where operations run: in a task, as a request does.

use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

use super::runtime;

/// Runs a future to its end in a task of a current-thread runtime.
pub fn in_task<F>(future: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    runtime()
        .block_on(async { tokio::spawn(future).await })
        .expect("the task runs to its end")
}

/// Runs `work` inside one poll of the running task.
pub fn in_poll(work: impl FnOnce(&mut Context<'_>)) -> impl Future<Output = ()> {
    let mut work = Some(work);
    poll_fn(move |cx| {
        if let Some(work) = work.take() {
            work(cx);
        }
        Poll::Ready(())
    })
}
