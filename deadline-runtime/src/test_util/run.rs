//! Running a function as a request: with a budget, as expired, as stopped at the n-th checkpoint.

use std::future::Future;
use std::time::Duration;

use super::clock::tick_per_checkpoint;
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

/// Runs what `work` makes as a request with `budget`, whose loop checkpoints each take `step` of the paused clock.
///
/// A loop that computes sees no time go by on a paused clock. Here every iteration with a checkpoint takes `step`, in annotated
/// functions and in those under `#[checkpoint]`, so that where it stops is exact.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Cause, Stopped, deadline, test_util};
///
/// #[deadline]
/// async fn crunch(rounds: u64) -> Result<u64, Stopped> {
///     let mut sum = 0_u64;
///     for round in 0..rounds {
///         sum = sum.wrapping_add(round * round);
///     }
///     Ok(sum)
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let ms = Duration::from_millis;
/// let (took, outcome) =
///     test_util::elapsed_of(test_util::run_ticking(ms(20), ms(1), || crunch(1_000_000))).await;
/// assert_eq!(took, ms(20));
/// test_util::assert_stopped(&outcome).cause(Cause::DeadlineExceeded);
/// # }
/// ```
///
/// # Panics
/// Where the clock is not paused.
#[track_caller]
pub fn run_ticking<F>(
    budget: impl Into<Budget>,
    step: Duration,
    work: impl FnOnce() -> F,
) -> impl Future<Output = F::Output>
where
    F: Future<Output: FromStopped>,
{
    let context = Context::root("test", budget.into());
    tick_per_checkpoint(&context, step);
    run(context, work)
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
