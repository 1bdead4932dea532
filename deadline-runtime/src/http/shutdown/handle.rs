//! [`Shutdown`].

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout_at;

use super::open::{InFlight, Open};
use crate::context::Context;
use crate::scope::TARGET;
use crate::tasks::{StillRunning, Tracker};
use crate::time::{Deadline, Short};

/// How far a shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    Draining,
    Stopping,
    Drained,
    Over,
}

/// The end of a server, within a budget. Cheap to clone; every clone is the same shutdown.
///
/// Give it to the [`DeadlineLayer`](crate::http::DeadlineLayer::shutdown) of what is served and to whatever accepts connections:
/// [`serve`](crate::http::serve), or axum's `with_graceful_shutdown` with [`begun`](Self::begun) (which then bounds nothing by
/// itself: half a request head holds it up for ever). Then [`begin`](Self::begin) it.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::http::{DeadlineLayer, Policy, Shutdown};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let shutdown = Shutdown::new();
/// let layer = DeadlineLayer::new("api", Policy::new()).shutdown(&shutdown);
/// // … serve with it; when the process is told to end:
/// let report = shutdown.begin(Duration::from_secs(10)).await;
/// assert!(report.is_clean());
/// # let _ = layer;
/// # }
/// ```
#[derive(Clone)]
pub struct Shutdown(Arc<Inner>);

struct Inner {
    tracker: Tracker,
    phase: watch::Sender<Phase>,
    in_flight: Arc<InFlight>,
    refused: AtomicUsize,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Shutdown {
    /// One that has not begun, with a tracker of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::with_tracker(Tracker::new())
    }

    /// One that also waits for what this tracker counts: a job worker's, say.
    #[must_use]
    pub fn with_tracker(tracker: Tracker) -> Self {
        Self(Arc::new(Inner {
            tracker,
            phase: watch::Sender::new(Phase::Serving),
            in_flight: Arc::default(),
            refused: AtomicUsize::new(0),
        }))
    }

    /// What counts the critical work, the hooks and the detached work of the requests.
    #[must_use]
    pub fn tracker(&self) -> &Tracker {
        &self.0.tracker
    }

    /// How many requests are in flight, up to the last byte of their answers. The [`tracker`](Self::tracker) counts a request up
    /// to the head of its answer only.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.0.in_flight.count()
    }

    /// Whether it has begun.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.phase() > Phase::Serving
    }

    /// Ready when it begins: what to stop accepting with.
    pub fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        self.reached(Phase::Draining)
    }

    /// Ends what is served, at the latest when `budget` is over.
    ///
    /// No connection is accepted and no request begun from here on. What is in flight has four fifths of the budget to end by
    /// itself; then it is cancelled with the cause `shutdown`. When nothing is in flight any more, critical work, hooks and
    /// detached work have the rest. Whoever calls it again waits for the same end under a budget of its own.
    pub async fn begin(&self, budget: Duration) -> ShutdownReport {
        let started = Deadline::now();
        let end = started.plus(budget);
        let gently = started.plus(budget / 5 * 4);
        self.advance(Phase::Draining);
        let at_first = self.in_flight();
        tracing::info!(
            target: TARGET,
            budget = %Short(budget),
            in_flight = at_first,
            "shutdown begins"
        );
        let none = || self.0.in_flight.none();
        let mut stopped = 0;
        if timeout_at(gently.instant(), none()).await.is_err() {
            self.advance(Phase::Stopping);
            stopped = self.0.in_flight.stop();
            let _ = timeout_at(end.instant(), none()).await;
        }
        let cut = self.in_flight();
        self.advance(Phase::Drained);
        let left = end.since(Deadline::now());
        let still_running = self.0.tracker.wait(left).await.err();
        self.advance(Phase::Over);
        let report = ShutdownReport {
            took: Deadline::now().since(started),
            at_first,
            stopped,
            cut,
            refused: self.0.refused.load(Ordering::Relaxed),
            still_running,
        };
        if report.is_clean() {
            tracing::info!(target: TARGET, "shutdown: {report}");
        } else {
            tracing::warn!(target: TARGET, "shutdown: {report}");
        }
        report
    }

    pub(super) fn phase(&self) -> Phase {
        *self.0.phase.borrow()
    }

    pub(super) fn reached(&self, phase: Phase) -> impl Future<Output = ()> + Send + use<> {
        let mut phases = self.0.phase.subscribe();
        async move {
            // Nobody can begin it any more when the last handle is gone.
            if phases.wait_for(|now| *now >= phase).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn advance(&self, phase: Phase) {
        self.0.phase.send_if_modified(|now| {
            let later = phase > *now;
            if later {
                *now = phase;
            }
            later
        });
    }

    /// Counts a request in, unless it is too late for it.
    pub(in crate::http) fn let_in(&self, context: &Context) -> Option<Open> {
        // Counted first and looked at second: a shutdown that begins in between sees it.
        let open = self.0.in_flight.open(context);
        if self.is_begun() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(open)
    }
}

/// `Shutdown(serving, 3 in flight)`
impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match self.phase() {
            Phase::Serving => "serving",
            Phase::Draining => "draining",
            Phase::Stopping => "stopping",
            Phase::Drained => "drained",
            Phase::Over => "over",
        };
        write!(f, "Shutdown({phase}, {} in flight)", self.in_flight())
    }
}

/// How a [`Shutdown`] went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// How long it took.
    pub took: Duration,
    /// How many requests were in flight when it began.
    pub at_first: usize,
    /// How many of them were cancelled, because they did not end by themselves.
    pub stopped: usize,
    /// How many had not ended even then.
    pub cut: usize,
    /// How many came when it had begun, and were refused.
    pub refused: usize,
    /// What of the rest still ran at the end.
    pub still_running: Option<StillRunning>,
}

impl ShutdownReport {
    /// Whether everything came to its own end.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.stopped == 0 && self.cut == 0 && self.still_running.is_none()
    }
}

/// `3 in flight, 2 ended, 1 stopped, 0 cut, 4 refused, after 812ms`
impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in flight, {} ended, {} stopped, {} cut, {} refused, after {}",
            self.at_first,
            self.at_first.saturating_sub(self.stopped.max(self.cut)),
            self.stopped,
            self.cut,
            self.refused,
            Short(self.took)
        )?;
        if let Some(still) = &self.still_running {
            write!(f, "; {still}")?;
        }
        Ok(())
    }
}
