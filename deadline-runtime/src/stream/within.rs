//! [`WithinDeadline`]: the stream itself.

use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;

use crate::scope::Series;
use crate::stop::{Phase, Stopped};
use crate::time::Budget;

pin_project! {
    /// The stream of [`within_deadline`].
    #[must_use = "streams do nothing unless polled"]
    pub struct WithinDeadline<S> {
        // Gone when it has ended.
        #[pin]
        stream: Option<S>,
        series: Series,
    }

    impl<S> PinnedDrop for WithinDeadline<S> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.series.abandon(this.stream);
        }
    }
}

/// Bounds a stream by the deadline of the scope it is made in, and by what is said with
/// [`per_item`](WithinDeadline::per_item) and [`total`](WithinDeadline::total). The rules are in the [table](mod@crate::stream).
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::stream::within_deadline;
/// use deadline_runtime::Cause;
/// use futures::StreamExt as _;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let lines = futures::stream::iter([1, 2]).chain(futures::stream::pending());
/// let mut lines = within_deadline(lines).named("lines").per_item(Duration::from_millis(50));
///
/// assert_eq!(lines.next().await.unwrap().unwrap(), 1);
/// assert_eq!(lines.next().await.unwrap().unwrap(), 2);
/// let stopped = lines.next().await.unwrap().unwrap_err();
/// assert_eq!(stopped.cause(), Cause::DependencyTimeout);
/// assert_eq!(stopped.limited_by().operation(), "lines");
/// assert!(lines.next().await.is_none());
/// # }
/// ```
#[track_caller]
pub fn within_deadline<S: Stream>(stream: S) -> WithinDeadline<S> {
    WithinDeadline {
        stream: Some(stream),
        series: Series::new("stream", Location::caller()),
    }
}

impl<S> WithinDeadline<S> {
    /// The longest wait for one item; under a millisecond, the resolution of timers, counts as one. The default is what
    /// is left in total.
    pub fn per_item(mut self, wait: Duration) -> Self {
        self.series.gap = Some(wait.max(Duration::from_millis(1)));
        self
    }

    /// What the whole stream may take, counted from the first poll; the deadline around holds if it is earlier. A
    /// reserve or a cleanup of the budget is taken off its end.
    ///
    /// Set it before the first poll; later it changes nothing.
    pub fn total(mut self, budget: impl Into<Budget>) -> Self {
        self.series.total = budget.into();
        self
    }

    /// The name of the operation in errors, events and reports; `stream` by default.
    pub fn named(mut self, name: &'static str) -> Self {
        self.series.name = name;
        self
    }

    /// What a stop says the work was in; `body` by default.
    pub fn in_phase(mut self, phase: Phase) -> Self {
        self.series.phase = phase;
        self
    }
}

impl<S: Stream> Stream for WithinDeadline<S> {
    type Item = Result<S::Item, Stopped>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        this.series.poll(this.stream, cx)
    }

    /// A stop can come in the place of every item but those that are there, and adds one of its own.
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.stream {
            None => (0, Some(0)),
            Some(_) if self.series.is_ended() => (1, Some(1)),
            Some(stream) => {
                let (lower, upper) = stream.size_hint();
                (lower.min(1), upper.and_then(|upper| upper.checked_add(1)))
            }
        }
    }
}

impl<S: Stream> FusedStream for WithinDeadline<S> {
    fn is_terminated(&self) -> bool {
        self.stream.is_none()
    }
}

impl<S> fmt::Debug for WithinDeadline<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithinDeadline")
            .field("name", &self.series.name)
            .field("per_item", &self.series.gap)
            .field("total", &self.series.total)
            .field("ended", &self.stream.is_none())
            .finish()
    }
}
