//! [`Script`]: what happens from outside while something runs.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

type Step<'a> = (Duration, Box<dyn FnOnce() + 'a>);

/// What happens at which time while a future runs: a client that leaves at 30 ms, a dependency that comes back at 50.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::test_util::{Script, assert_stopped, elapsed_of};
/// use deadline_runtime::{Budget, Cause, Context};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let ms = Duration::from_millis;
/// let request = Context::root("request", Budget::new(ms(100)));
/// let script = Script::new().at(ms(30), || {
///     request.cancel(Cause::ClientCancelled);
/// });
/// let work = request.run(std::future::pending::<()>());
/// let (took, outcome) = elapsed_of(script.during(work)).await;
/// assert_eq!(took, ms(30));
/// assert_stopped(&outcome).cause(Cause::ClientCancelled);
/// # }
/// ```
#[derive(Default)]
#[must_use = "nothing happens before `during`"]
pub struct Script<'a>(Vec<Step<'a>>);

impl<'a> Script<'a> {
    /// Nothing happens.
    pub fn new() -> Self {
        Self::default()
    }

    /// At `time`, counted from where [`during`](Self::during) is first polled, `step` is done. Steps of the same time are done
    /// in the order in which they were written.
    pub fn at(mut self, time: Duration, step: impl FnOnce() + 'a) -> Self {
        self.0.push((time, Box::new(step)));
        self
    }

    /// Runs the future, and the steps whose time comes before it is ready. A step at the very instant at which the future
    /// has something to do comes first.
    pub async fn during<F: IntoFuture>(self, future: F) -> F::Output {
        let mut steps = self.0;
        steps.sort_by_key(|(time, _)| *time);
        let mut steps = VecDeque::from(steps);
        let start = Instant::now();
        let mut future = pin!(future.into_future());
        let mut timer = pin!(sleep_until(start));
        poll_fn(|cx| {
            while let Some((time, _)) = steps.front() {
                let due = start + *time;
                if due > Instant::now() {
                    if timer.deadline() != due {
                        timer.as_mut().reset(due);
                    }
                    if timer.as_mut().poll(cx).is_pending() {
                        break;
                    }
                }
                if let Some((_, step)) = steps.pop_front() {
                    step();
                }
            }
            match future.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(output),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

impl fmt::Debug for Script<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = self.0.iter().map(|(time, _)| time);
        f.debug_list().entries(times).finish()
    }
}
