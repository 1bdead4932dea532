//! [`Bounds`]: what limits one call to a database, and what its end is called.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::limit::ServerLimit;
use crate::context::Context;
use crate::context::current::{self, Frame};
use crate::context::node::Node;
use crate::stop::{Cause, Phase, Stopped};
use crate::time::{Deadline, SHORTEST};

/// The context of one call.
#[derive(Debug, Clone)]
pub(crate) struct Bounds(Context);

/// What the end of a call that failed is put down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// We stopped it, for this cause.
    Stopped(Cause),
    /// The server ended it at the limit that we had told it.
    Limit,
    /// Somebody else did.
    Theirs,
}

impl Bounds {
    /// Of whoever calls.
    pub(crate) fn here() -> Self {
        Self::of(Context::current())
    }

    /// As seen when the call is polled first: within one request the polling context decides, and a future that was made
    /// before its request was entered belongs to it all the same.
    pub(crate) fn polled(self) -> Self {
        let here = Context::current();
        match (self.0.node(), here.node()) {
            (None, _) => Self(here),
            (Some(made), Some(polling)) if made.same_request(polling) => Self(here),
            _ => self,
        }
    }

    /// These, or where there is no context `otherwise`.
    pub(crate) fn or(self, otherwise: &Context) -> Self {
        if self.0.is_none() {
            Self(otherwise.clone())
        } else {
            self
        }
    }

    pub(crate) const fn of(cx: Context) -> Self {
        Self(cx)
    }

    pub(crate) const fn context(&self) -> &Context {
        &self.0
    }

    /// Whether there is anything that could end the call.
    pub(crate) fn enforced(&self) -> bool {
        !self.0.is_none() && self.0.mode().enforces()
    }

    /// When the call has to be over, where that is enforced.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.0.deadline().filter(|_| self.enforced())
    }

    /// Whether nothing can be begun any more.
    #[cfg_attr(
        not(any(feature = "sqlx-postgres", feature = "tokio-postgres")),
        allow(dead_code, reason = "only transactions with savepoints ask")
    )]
    pub(crate) fn is_over(&self) -> bool {
        let spent = |deadline: Deadline| deadline.remaining() < SHORTEST;
        self.enforced() && (self.0.cause().is_some() || self.deadline().is_some_and(spent))
    }

    /// What the request as a whole has left, its reserve included; zero without a limit.
    #[cfg_attr(
        not(any(feature = "sqlx-postgres", feature = "tokio-postgres")),
        allow(dead_code, reason = "only servers are told")
    )]
    pub(crate) fn request_left(&self) -> Duration {
        let root = self.0.node().map(Node::root_of);
        root.and_then(|root| root.limits.hard)
            .map_or(Duration::ZERO, Deadline::remaining)
    }

    /// What the server is told, if there is still time for `least`; `Ok(None)` without a limit.
    ///
    /// # Errors
    /// The stop of the context, or a refusal: nothing may be sent.
    pub(crate) fn admit(&self, least: Duration) -> Result<Option<ServerLimit>, Stopped> {
        if !self.enforced() {
            return Ok(None);
        }
        self.check(Phase::Start)?;
        let Some(deadline) = self.deadline() else {
            return Ok(None);
        };
        let (left, least) = (deadline.remaining(), least.max(SHORTEST));
        if let Some(limit) = ServerLimit::of(left).filter(|_| left >= least) {
            return Ok(Some(limit));
        }
        let refused = self.stop(Cause::LocalBudgetRejected, Phase::Start);
        let refused = refused.needing(least, left);
        self.note(&refused);
        Err(refused)
    }

    /// An error if the context is stopped by now.
    pub(crate) fn check(&self, phase: Phase) -> Result<(), Stopped> {
        match self.0.cause() {
            Some(cause) => {
                let stopped = self.stop(cause, phase);
                self.note(&stopped);
                Err(stopped)
            }
            None => Ok(()),
        }
    }

    /// Runs a step of the call until the context stops it. A value that is ready is kept.
    pub(crate) async fn run<F: Future>(&self, phase: Phase, step: F) -> Result<F::Output, Stopped> {
        if !self.enforced() {
            return Ok(step.await);
        }
        self.check(phase)?;
        let (mut step, mut cancelled) = (pin!(step), pin!(self.0.cancelled()));
        let done = std::future::poll_fn(|cx| match step.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => cancelled.as_mut().poll(cx).map(Err),
        });
        done.await.map_err(|cause| {
            let stopped = self.stop(cause, phase);
            self.note(&stopped);
            stopped
        })
    }

    /// Why a call ended with an error that the server uses for its limits, for cancels by us and for cancels by others
    /// alike. `told` is the limit that the server had, and when.
    pub(crate) fn verdict(&self, told: Option<(Deadline, ServerLimit)>) -> Verdict {
        if self.enforced()
            && let Some(cause) = self.0.cause()
        {
            return Verdict::Stopped(cause);
        }
        // Its clock is another one: corrected by up to half a thousandth, and read in its own time.
        match told {
            Some((at, limit)) => {
                let limit = limit.duration();
                let early = limit / 1_000 + SHORTEST;
                if at.plus(limit.saturating_sub(early)).is_expired() {
                    Verdict::Limit
                } else {
                    Verdict::Theirs
                }
            }
            None => Verdict::Theirs,
        }
    }

    /// The stop that such a verdict stands for.
    pub(crate) fn judge(&self, verdict: Verdict, phase: Phase) -> Stopped {
        let cause = match verdict {
            Verdict::Stopped(cause) => cause,
            Verdict::Limit => Frame::of(self.0.node()).limit_cause(),
            Verdict::Theirs => return self.stop(Cause::DependencyFailed, phase),
        };
        let stopped = self.stop(cause, phase);
        self.note(&stopped);
        stopped
    }

    /// A stop of this very call.
    pub(crate) fn stop(&self, cause: Cause, phase: Phase) -> Stopped {
        let frame = Frame::of(self.0.node());
        let location = frame.limit().location();
        frame.stop_error(cause, phase, Deadline::now(), location, current::path())
    }

    /// As a scope of ours does: the request remembers the stop, and the scopes around learn whose limit it was, so that the
    /// fallback of a `#[budget]` stands in for it.
    fn note(&self, stopped: &Stopped) {
        let Some(node) = self.0.node() else { return };
        node.note_stop(stopped);
        let by_limit = matches!(
            stopped.cause(),
            Cause::DeadlineExceeded | Cause::DependencyTimeout | Cause::LocalBudgetRejected
        );
        if by_limit {
            current::with(|frame| frame.note_limit_hit(node.limits.soft));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Budget;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn under(left: Duration) -> (Context, Bounds) {
        let cx = Context::root("pay", Budget::new(left));
        (cx.clone(), Bounds::of(cx))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_admitted_with_its_minimum_and_refused_below_it() {
        let (_, bounds) = under(ms(10));
        assert_eq!(bounds.admit(ms(10)).unwrap(), ServerLimit::of(ms(10)));
        tokio::time::sleep(ms(1)).await;
        let refused = bounds.admit(ms(10)).unwrap_err();
        assert_eq!(refused.cause(), Cause::LocalBudgetRejected);
        assert_eq!(refused.needed(), Some((ms(10), ms(9))));
        assert_eq!(
            bounds.admit(Duration::ZERO).unwrap(),
            ServerLimit::of(ms(9))
        );
        tokio::time::advance(Duration::from_micros(8_600)).await;
        // 400 us are left: nothing is sent.
        let refused = bounds.admit(Duration::ZERO).unwrap_err();
        assert_eq!(refused.cause(), Cause::LocalBudgetRejected);
        tokio::time::advance(ms(1)).await;
        let refused = bounds.admit(Duration::ZERO).unwrap_err();
        assert_eq!(refused.cause(), Cause::DeadlineExceeded);
        assert_eq!(refused.phase(), Phase::Start);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_deadline_there_is_no_limit_and_where_nothing_is_enforced_neither() {
        assert_eq!(Bounds::of(Context::none()).admit(ms(5)).unwrap(), None);
        let observing = Context::builder("pay")
            .budget(Budget::new(ms(1)))
            .mode(crate::context::Mode::Observe)
            .build();
        tokio::time::sleep(ms(5)).await;
        assert_eq!(Bounds::of(observing).admit(ms(5)).unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_cause_is_decided_from_our_own_state() {
        let (cx, bounds) = under(ms(100));
        let told = ServerLimit::of(ms(50)).map(|limit| (Deadline::now(), limit));
        tokio::time::sleep(ms(10)).await;
        // Nothing of ours has ended: an operator did it.
        assert_eq!(bounds.verdict(told), Verdict::Theirs);
        assert_eq!(
            bounds.judge(Verdict::Theirs, Phase::Database).cause(),
            Cause::DependencyFailed
        );
        tokio::time::sleep(ms(40)).await;
        // The server's limit has passed, ours not quite.
        assert_eq!(bounds.verdict(told), Verdict::Limit);
        cx.cancel(Cause::ClientCancelled);
        assert_eq!(
            bounds.verdict(told),
            Verdict::Stopped(Cause::ClientCancelled)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_of_a_narrower_context_is_a_dependency_that_was_slow() {
        let (cx, request) = under(ms(100));
        let query = Bounds::of(cx.child(ms(20)));
        let limit = query.judge(Verdict::Limit, Phase::Database);
        assert_eq!(limit.cause(), Cause::DependencyTimeout);
        let limit = request.judge(Verdict::Limit, Phase::Database);
        assert_eq!(limit.cause(), Cause::DeadlineExceeded);
        tokio::time::sleep(ms(20)).await;
        let stopped = query.check(Phase::Database).unwrap_err();
        assert_eq!(stopped.cause(), Cause::DependencyTimeout);
        assert!(request.check(Phase::Database).is_ok());
    }
}
