//! [`Guard`]: an await inside a scope that tidies up.

use std::future::{Future, IntoFuture};
use std::panic::Location;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::gate::At;
use super::limit::Settle;
use crate::context::current;
use crate::stop::{Phase, Stopped};
use crate::time::Deadline;

/// How often the stop is shown without a wait: code that tidies up by several awaits meets it once at each.
const PROMPT: u8 = 10;

/// How long whoever goes on swallowing it is made to wait for the next one; timers are no finer.
const TICK: Duration = Duration::from_millis(1);

pin_project! {
    /// Hands the stop to the body itself, so that `?` unwinds it normally and what follows can tidy up.
    ///
    /// A stop is level-triggered: every later guard sees it again. From the second delivery on a guard first gives the
    /// thread away once, and from the tenth on it waits for a tick, so that a loop which swallows the error neither
    /// spins nor keeps a core busy until the end of its cleanup.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Guard<F> {
        #[pin]
        future: F,
        location: &'static Location<'static>,
        begun: bool,
        // When the stop may be shown again.
        again: Option<Deadline>,
    }
}

/// Guards one await.
#[track_caller]
pub fn guard<F: IntoFuture>(future: F) -> Guard<F::IntoFuture> {
    Guard {
        future: future.into_future(),
        location: Location::caller(),
        begun: false,
        again: None,
    }
}

impl<T, E: From<Stopped>> At<Result<Result<T, E>, Stopped>> {
    /// A stop becomes the awaited value itself where that is a `Result` whose error can carry it, so that the body's
    /// own `?`, `match` and what follows them meet it.
    #[allow(clippy::missing_errors_doc, reason = "part of the expansion")]
    pub fn deadline_settle(self) -> Result<Result<T, E>, Stopped> {
        Ok(self.0.unwrap_or_else(|stopped| Err(E::from(stopped))))
    }
}

/// Any other value has no place for a stop: the function returns.
impl<T> Settle for At<Result<T, Stopped>> {
    type Value = T;

    fn deadline_settle(self) -> Result<T, Stopped> {
        self.0
    }
}

impl<F: Future> Future for Guard<F> {
    type Output = Result<F::Output, Stopped>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if !*this.begun {
            if let Some(delivery) = deliver(this.location, this.again, cx) {
                return delivery.map(Err);
            }
            *this.begun = true;
        }
        // A value that is ready is a value.
        if let Poll::Ready(value) = this.future.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        current::with(|frame| frame.seen.at = Some(this.location));
        match deliver(this.location, this.again, cx) {
            Some(delivery) => delivery.map(Err),
            None => Poll::Pending,
        }
    }
}

/// `None` while the scope is not stopped.
#[inline(never)]
fn deliver(
    location: &'static Location<'static>,
    again: &mut Option<Deadline>,
    cx: &mut task::Context<'_>,
) -> Option<Poll<Stopped>> {
    crate::trip::count();
    current::with_below(|frame, below| {
        let now = Deadline::now();
        let cause = frame.stopped(|| now)?;
        if frame.deliveries > 0 {
            if again.is_none() && frame.deliveries < PROMPT {
                *again = Some(now);
                cx.waker().wake_by_ref();
                return Some(Poll::Pending);
            }
            let at = *again.get_or_insert_with(|| now.plus(TICK));
            if now < at {
                frame.seen.wake_at = Deadline::earlier(frame.seen.wake_at, Some(at));
                return Some(Poll::Pending);
            }
        }
        frame.deliveries = frame.deliveries.saturating_add(1);
        let stopped = frame.stop_error(cause, Phase::Wait, now, location, frame.path(&below));
        frame.note_stop(&stopped);
        Some(Poll::Ready(stopped))
    })
    .flatten()
}
