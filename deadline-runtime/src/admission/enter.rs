//! [`Enter`]: waiting for a slot, or not.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{self, Poll};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::limiter::Admission;
use super::slot::Slot;
use super::stats::count;
use crate::context::Context;
use crate::scope::{Run, TARGET};
use crate::stop::{Brief, Cause, Details, Phase, Stopped};
use crate::time::{Budget, Deadline, Short};

/// The future of [`Admission::enter`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Enter {
    admission: Admission,
    context: Context,
    location: &'static Location<'static>,
    state: State,
}

enum State {
    Asking,
    Waiting(InLine),
    Over,
}

/// A refusal, with what a client may be told.
pub(crate) struct Refused {
    pub(crate) stopped: Stopped,
    #[cfg_attr(
        not(feature = "http"),
        allow(dead_code, reason = "only an answer has it")
    )]
    pub(crate) retry_after: Option<Duration>,
}

type Turn = Pin<Box<Run<TurnOfSemaphore>>>;
type TurnOfSemaphore = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

/// A place in line, which is given up however it is left.
struct InLine {
    admission: Admission,
    turn: Turn,
    since: Deadline,
    bound: Duration,
    expected: Option<Duration>,
    decided: bool,
}

impl Drop for InLine {
    fn drop(&mut self) {
        let shared = self.admission.shared();
        shared.waiting.fetch_sub(1, Ordering::Relaxed);
        if !self.decided {
            count(&shared.counts.left);
        }
    }
}

impl Enter {
    pub(super) const fn new(
        admission: Admission,
        context: Context,
        location: &'static Location<'static>,
    ) -> Self {
        Self {
            admission,
            context,
            location,
            state: State::Asking,
        }
    }

    pub(crate) fn poll_enter(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<Slot, Refused>> {
        loop {
            match &mut self.state {
                State::Asking => match self.ask() {
                    Ok(Some(slot)) => {
                        self.state = State::Over;
                        return Poll::Ready(Ok(slot));
                    }
                    // In line now.
                    Ok(None) => {}
                    Err(refused) => {
                        self.state = State::Over;
                        return Poll::Ready(Err(refused));
                    }
                },
                State::Waiting(line) => {
                    let Poll::Ready(ended) = line.turn.as_mut().poll(cx) else {
                        return Poll::Pending;
                    };
                    let outcome = self.turn(ended);
                    self.state = State::Over;
                    return Poll::Ready(outcome);
                }
                State::Over => return Poll::Pending,
            }
        }
    }

    /// A slot at once, a place in line, or neither.
    fn ask(&mut self) -> Result<Option<Slot>, Refused> {
        let shared = self.admission.shared();
        count(&shared.counts.came);
        let now = Deadline::now();
        if let Some(cause) = self.context.cause_by(|| now) {
            count(&shared.counts.left);
            return Err(self.stopped(cause));
        }
        self.admission.estimate().came();
        if let Some(slot) = self.admission.take(&self.context, now) {
            count(&shared.counts.admitted);
            return Ok(Some(slot));
        }
        let waiting = shared.waiting.load(Ordering::Relaxed);
        let expected = self.admission.estimate().wait(waiting, shared.slots);
        let enforces = self.context.mode().enforces();
        let left = self.context.remaining().filter(|_| enforces);
        // What may pass in line: never more than what leaves a run what it needs.
        let spare = left.map(|left| left.saturating_sub(shared.min));
        let bound = spare.map_or(shared.max_wait, |spare| spare.min(shared.max_wait));
        if let Some(expected) = expected
            && expected > bound
            && self.admission.estimate().may_refuse()
        {
            count(&shared.counts.not_worth_it);
            // What it is held against: what the request has left, or the longest wait.
            let needed = match left.filter(|_| bound < shared.max_wait) {
                Some(left) => (expected.saturating_add(shared.min), left),
                None => (expected, bound),
            };
            return Err(self.refused(Deadline::now(), Some(expected), Some(needed)));
        }
        let place = shared
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| {
                (waiting < shared.queue).then(|| waiting.saturating_add(1))
            });
        if place.is_err() {
            count(&shared.counts.line_full);
            return Err(self.refused(Deadline::now(), expected, None));
        }
        let free = shared.free.clone();
        let turn: TurnOfSemaphore = Box::pin(async move { free.acquire_owned().await.ok() });
        let (_, node) = self
            .context
            .below_at("admission", Budget::new(bound), self.location);
        let line = InLine {
            admission: self.admission.clone(),
            turn: Box::pin(Run::always(Some(node), turn)),
            since: Deadline::now(),
            bound,
            expected,
            decided: false,
        };
        self.state = State::Waiting(line);
        Ok(None)
    }

    /// The wait is over, by a slot or by a limit.
    fn turn(
        &mut self,
        ended: Result<Option<OwnedSemaphorePermit>, Stopped>,
    ) -> Result<Slot, Refused> {
        let State::Waiting(line) = &mut self.state else {
            // Only called for one that waits.
            return Err(self.refused(Deadline::now(), None, None));
        };
        let counts = &self.admission.shared().counts;
        match (ended, self.context.cause()) {
            (Ok(Some(permit)), _) => {
                line.decided = true;
                count(&counts.admitted);
                Ok(self.admission.slot(permit, &self.context, Deadline::now()))
            }
            // It leaves the line, and counts as one who has left.
            (_, Some(cause)) => Err(self.stopped(cause)),
            // Its own bound; the semaphore is never closed.
            _ => {
                line.decided = true;
                let (since, expected) = (line.since, line.expected.max(Some(line.bound)));
                count(&counts.waited_in_vain);
                Err(self.refused(since, expected, None))
            }
        }
    }

    /// The stop of whoever asks.
    fn stopped(&self, cause: Cause) -> Refused {
        Refused {
            stopped: self.context.stop_error_of(cause, Phase::Queue),
            retry_after: None,
        }
    }

    fn refused(
        &self,
        since: Deadline,
        retry_after: Option<Duration>,
        needed: Option<(Duration, Duration)>,
    ) -> Refused {
        let shared = self.admission.shared();
        let elapsed = Deadline::now().since(since);
        let mut details = Details::of(Brief {
            cause: Cause::Overload,
            phase: Phase::Queue,
            operation: shared.limit.operation,
            limit: shared.limit,
            deadline: None,
            budget: None,
            elapsed,
        });
        details.location = self.location;
        details.needed = needed;
        let stats = self.admission.stats();
        tracing::debug!(
            target: TARGET,
            op = shared.limit.operation,
            cause = Cause::Overload.as_str(),
            waited = %Short(elapsed),
            in_use = stats.in_use,
            waiting = stats.waiting,
            request_id = self.context.request_id().as_deref().unwrap_or(""),
            "refused"
        );
        Refused {
            stopped: Stopped::new(details),
            retry_after,
        }
    }
}

impl Future for Enter {
    type Output = Result<Slot, Stopped>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.poll_enter(cx)
            .map(|ended| ended.map_err(|refused| refused.stopped))
    }
}

impl fmt::Debug for Enter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Enter").field(&self.admission).finish()
    }
}
