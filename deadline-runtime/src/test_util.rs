//! Helpers for users' tests: run a future with a budget, as expired, or as stopped at the n-th checkpoint.
//!
//! Behind the feature `test-util`. They work on whatever clock the test has; with a paused one
//! (`#[tokio::test(start_paused = true)]`) every figure is exact.

use std::future::Future;
use std::time::Duration;

use crate::context::Context;
use crate::stop::{Cause, FromStopped};
use crate::time::{Budget, Deadline};

/// Runs what `work` makes as a request with `budget`.
///
/// Whatever the function returns comes back as it is, with its own error type; a stop that it could not return itself,
/// because it was refused before it began, comes as that type as well.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Cause, Stopped, deadline, test_util};
///
/// #[derive(Debug)]
/// enum AppError {
///     Stopped(Stopped),
/// }
/// # impl From<Stopped> for AppError {
/// #     fn from(stopped: Stopped) -> Self { Self::Stopped(stopped) }
/// # }
///
/// #[deadline]
/// async fn slow(user: u32) -> Result<u32, AppError> {
///     tokio::time::sleep(Duration::from_secs(60)).await;
///     Ok(user)
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let outcome = test_util::run_with_budget(Duration::from_millis(50), || slow(7)).await;
/// let Err(AppError::Stopped(stopped)) = outcome else { panic!("{outcome:?}") };
/// assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
/// # }
/// ```
#[track_caller]
pub fn run_with_budget<F>(
    budget: impl Into<Budget>,
    work: impl FnOnce() -> F,
) -> impl Future<Output = F::Output>
where
    F: Future<Output: FromStopped>,
{
    run(Context::root("test", budget.into()), work)
}

/// Runs what `work` makes as a request whose deadline has already passed: nothing of it begins.
#[track_caller]
pub fn run_expired<F>(work: impl FnOnce() -> F) -> impl Future<Output = F::Output>
where
    F: Future<Output: FromStopped>,
{
    let context = Context::builder("test").deadline(Deadline::now()).build();
    run(context, work)
}

/// Runs what `work` makes as a request that is cancelled with `cause` at the `n`-th checkpoint, counted from one: the
/// start of an annotated function (the first one, usually, is that of `work` itself), of an await, or of an iteration.
///
/// Counting `n` up until a run comes through exercises every early return once.
#[track_caller]
pub fn run_stopped_at<F>(
    n: usize,
    cause: Cause,
    work: impl FnOnce() -> F,
) -> impl Future<Output = F::Output>
where
    F: Future<Output: FromStopped>,
{
    let context = Context::root("test", Budget::new(Duration::from_secs(3600)));
    context.trip_at(n, cause);
    run(context, work)
}

/// What is registered with a context at this moment; for tests that nothing is left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registered {
    /// Contexts directly below it.
    pub children: usize,
    /// Tasks that its cancel would wake.
    pub waiting: usize,
}

/// What is registered with `context` at this moment.
#[must_use]
pub fn registered(context: &Context) -> Registered {
    let node = context.node();
    Registered {
        children: node.map_or(0, |node| node.child_count()),
        waiting: node.map_or(0, |node| node.signal.waiting()),
    }
}

/// How many checkpoints the request of `context` has passed: the range of `n` for [`run_stopped_at`].
#[must_use]
pub fn checkpoints_passed(context: &Context) -> usize {
    context
        .node()
        .map_or(0, |node| node.root_of().trip.passed())
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "the returned future must not borrow it"
)]
fn run<F>(context: Context, work: impl FnOnce() -> F) -> impl Future<Output = F::Output>
where
    F: Future<Output: FromStopped>,
{
    let future = context.enter(work);
    let run = context.run(future);
    async move { run.await.unwrap_or_else(F::Output::from_stopped) }
}
