//! Helpers for users' tests: run a future with a budget, as expired, or as stopped at the n-th checkpoint.
//!
//! Behind the feature `test-util`. They work on whatever clock the test has; with a paused one
//! (`#[tokio::test(start_paused = true)]`) every figure is exact.

use std::future::Future;
use std::time::Duration;

use crate::context::Context;
use crate::stop::{Cause, Stopped};
use crate::time::{Budget, Deadline};

/// Runs what `work` makes as a request with `budget`.
///
/// # Errors
/// [`Stopped`] when the budget ends before the future is ready and the future does not say so itself.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Cause, Stopped, deadline, test_util};
///
/// #[deadline]
/// async fn slow() -> Result<(), Stopped> {
///     tokio::time::sleep(Duration::from_secs(60)).await;
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let outcome = test_util::run_with_budget(Duration::from_millis(50), slow).await;
/// assert_eq!(outcome.unwrap_err().cause(), Cause::DeadlineExceeded);
/// # }
/// ```
#[track_caller]
pub fn run_with_budget<F, T>(
    budget: impl Into<Budget>,
    work: impl FnOnce() -> F,
) -> impl Future<Output = Result<T, Stopped>>
where
    F: Future<Output: Flatten<T>>,
{
    run(Context::root("test", budget.into()), work)
}

/// Runs what `work` makes as a request whose deadline has already passed: nothing of it may begin.
///
/// # Errors
/// [`Stopped`], unless the future makes a value without awaiting anything.
#[track_caller]
pub fn run_expired<F, T>(work: impl FnOnce() -> F) -> impl Future<Output = Result<T, Stopped>>
where
    F: Future<Output: Flatten<T>>,
{
    let context = Context::builder("test").deadline(Deadline::now()).build();
    run(context, work)
}

/// Runs what `work` makes as a request that is cancelled with `cause` at the `n`-th checkpoint, counted from one: the
/// start of an await, or an iteration of a loop.
///
/// # Errors
/// [`Stopped`] when the future came that far.
#[track_caller]
pub fn run_stopped_at<F, T>(
    n: usize,
    cause: Cause,
    work: impl FnOnce() -> F,
) -> impl Future<Output = Result<T, Stopped>>
where
    F: Future<Output: Flatten<T>>,
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
fn run<F, T>(context: Context, work: impl FnOnce() -> F) -> impl Future<Output = Result<T, Stopped>>
where
    F: Future<Output: Flatten<T>>,
{
    let future = context.enter(work);
    let run = context.run(future);
    async move { run.await.and_then(Flatten::flatten) }
}

/// A result that is a stop or not, whichever scope reported it.
pub trait Flatten<T> {
    /// The inner stop, or the value.
    ///
    /// # Errors
    /// The stop that the value carries.
    fn flatten(self) -> Result<T, Stopped>;
}

impl<T> Flatten<T> for Result<T, Stopped> {
    fn flatten(self) -> Self {
        self
    }
}
