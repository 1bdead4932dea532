//! [`Tracker`]: what still runs, for whoever shuts a process down.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{self, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::sync::Notify;

use crate::context::node::Node;
use crate::scope::Timer;
use crate::time::{Deadline, Short};

/// Counts what runs for the requests that were built with it, so that a shutdown can wait for it.
///
/// A value, not a global: it is put on the context of a request ([`RootBuilder::tracker`](crate::RootBuilder::tracker))
/// and everything below has it, also what is shielded, critical or detached. Cheap to clone; every clone is the same
/// tracker. Every count is taken back by a destructor, so that it is right however the work ends.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Budget, Context, Tracker};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let tracker = Tracker::new();
/// let request = Context::builder("order")
///     .budget(Budget::new(Duration::from_millis(100)))
///     .tracker(&tracker)
///     .build();
/// let entry = request.critical("journal", Duration::from_secs(1), |_cx| async {
///     tokio::time::sleep(Duration::from_millis(300)).await;
/// });
/// drop((request, entry));
/// assert_eq!(tracker.stats().critical, 1);
///
/// let left = tracker.wait(Duration::from_millis(200)).await.unwrap_err();
/// assert_eq!(left.stats().critical, 1);
/// assert!(tracker.wait(Duration::from_millis(200)).await.is_ok());
/// # }
/// ```
// tokio-util has a `TaskTracker`: one count of everything, closed before it can be waited for, and a wait without an end.
// Here a shutdown has to know what it is still waiting for and for how long, scopes and closures count that are no tasks of
// their own, and the core would depend on one crate more.
#[derive(Clone, Default)]
pub struct Tracker(Arc<Gauges>);

#[derive(Default)]
struct Gauges {
    counts: [AtomicUsize; Gauge::COUNT],
    /// Told whenever one of them has come back to zero.
    idle: Notify,
}

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Gauge {
    Requests,
    Scopes,
    Critical,
    Detached,
    AfterStop,
    Closing,
    OrphanTasks,
    OrphanClosures,
}

impl Gauge {
    const COUNT: usize = 8;

    /// Counts one until the guard is dropped; `None` where nobody tracks.
    pub(crate) fn hold(self, node: &Arc<Node>) -> Option<Held> {
        node.tracker().map(|tracker| {
            tracker.add(self, 1);
            Held {
                tracker: tracker.clone(),
                gauge: self,
            }
        })
    }
}

/// One that is counted.
pub(crate) struct Held {
    tracker: Tracker,
    gauge: Gauge,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.tracker.sub(self.gauge);
    }
}

pin_project! {
    /// A future that is counted until it is dropped.
    pub(crate) struct Counted<F> {
        #[pin]
        future: F,
        held: Option<Held>,
    }
}

impl<F> Counted<F> {
    pub(crate) const fn new(future: F, held: Option<Held>) -> Self {
        Self { future, held }
    }
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(cx)
    }
}

impl Tracker {
    /// A tracker that nothing has been counted by.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add(&self, gauge: Gauge, count: usize) {
        self.0.counts[gauge as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, gauge: Gauge) {
        // What the work has done is seen by whoever sees the zero.
        if self.0.counts[gauge as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }

    /// What runs at this moment.
    #[must_use]
    pub fn stats(&self) -> TrackerStats {
        let count = |gauge: Gauge| self.0.counts[gauge as usize].load(Ordering::Acquire);
        TrackerStats {
            requests: count(Gauge::Requests),
            scopes: count(Gauge::Scopes),
            critical: count(Gauge::Critical),
            detached: count(Gauge::Detached),
            after_stop: count(Gauge::AfterStop),
            closing: count(Gauge::Closing),
            orphan_tasks: count(Gauge::OrphanTasks),
            orphan_closures: count(Gauge::OrphanClosures),
        }
    }

    /// Waits until nothing runs any more, at most for `budget`.
    ///
    /// For the end of a process, after it has stopped to take requests in and before it flushes its logs: what is waited
    /// for still logs. Called inside a tracked request it would wait for itself.
    ///
    /// # Errors
    /// [`StillRunning`] when the time is over, with what still runs.
    pub async fn wait(&self, budget: Duration) -> Result<(), StillRunning> {
        let end = Deadline::after(budget);
        let mut timer = pin!(Timer::default());
        loop {
            let mut told = pin!(self.0.idle.notified());
            // From here on it is told; then it looks.
            told.as_mut().enable();
            let stats = self.stats();
            if stats.is_idle() {
                return Ok(());
            }
            if end.is_expired() {
                return Err(StillRunning { stats, budget });
            }
            poll_fn(|cx| {
                if end.is_expired() || told.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                timer.as_mut().wait(Some(end), cx);
                Poll::Pending
            })
            .await;
        }
    }
}

impl fmt::Debug for Tracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tracker").field(&self.stats()).finish()
    }
}

/// What runs, as counted by a [`Tracker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TrackerStats {
    /// Outermost scopes: requests that are being served. Over HTTP such a scope ends with the head of the answer; how many
    /// bodies are still being sent is known to `http::Shutdown::in_flight`, for which a shutdown of it waits first.
    pub requests: usize,
    /// Scopes that have begun and not ended, outermost ones and tasks among them.
    pub scopes: usize,
    /// Critical work.
    pub critical: usize,
    /// Detached work.
    pub detached: usize,
    /// After-stop hooks that run or wait for their turn.
    pub after_stop: usize,
    /// Sets of tasks whose owner was dropped and which are being ended.
    pub closing: usize,
    /// Tasks that could not be stopped.
    pub orphan_tasks: usize,
    /// Blocking closures that nobody waits for any more.
    pub orphan_closures: usize,
}

impl TrackerStats {
    /// Whether nothing runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

/// `1 request, 2 critical, 1 orphan task`
impl fmt::Display for TrackerStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (count, one, many) in [
            (self.requests, "request", "requests"),
            (self.scopes, "scope", "scopes"),
            (self.critical, "critical", "critical"),
            (self.detached, "detached", "detached"),
            (self.after_stop, "after-stop hook", "after-stop hooks"),
            (
                self.closing,
                "set of tasks being ended",
                "sets of tasks being ended",
            ),
            (self.orphan_tasks, "orphan task", "orphan tasks"),
            (self.orphan_closures, "orphan closure", "orphan closures"),
        ] {
            if count > 0 {
                let comma = if first { "" } else { ", " };
                first = false;
                write!(f, "{comma}{count} {}", if count == 1 { one } else { many })?;
            }
        }
        if first {
            f.write_str("nothing")
        } else {
            Ok(())
        }
    }
}

/// Something still ran when a [`Tracker::wait`] was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StillRunning {
    stats: TrackerStats,
    budget: Duration,
}

impl StillRunning {
    /// What still ran.
    #[must_use]
    pub const fn stats(&self) -> TrackerStats {
        self.stats
    }
}

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "still running after {}: {}",
            Short(self.budget),
            self.stats
        )
    }
}

impl Error for StillRunning {}
