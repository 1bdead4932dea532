//! [`Trial`]: one attempt, under a context of its own.

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::around::{Around, Place};
use super::fault::{Failure, Kind};
use super::record::{Attempt, AttemptOutcome};
use crate::context::{Context, current};
use crate::scope::Run;
use crate::stop::Cause;
use crate::time::{Budget, Deadline};

/// What every attempt of one combinator is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The most an attempt may take.
    pub(crate) cap: Option<Duration>,
    /// The least that a useful attempt needs.
    pub(crate) least: Duration,
    /// What is kept behind the attempts.
    pub(crate) reserve: Duration,
}

pin_project! {
    pub(crate) struct Trial<F: Future> {
        attempt: Attempt,
        started: Deadline,
        context: Context,
        #[pin]
        run: Run<F>,
    }
}

impl<F: Future> Trial<F> {
    /// Begins an attempt: a child of the scope around, and of nothing else that could be cancelled.
    ///
    /// With `repeats` it is one of several that follow each other.
    ///
    /// The future is made inside the attempt's context, so that what captures its context at the call captures this
    /// one.
    pub(crate) fn begin(
        place: Place,
        plan: &Plan,
        number: u32,
        repeats: bool,
        around: &Around,
        make: impl FnOnce(Attempt) -> F,
    ) -> Self {
        let granted = around.granted(plan.cap, plan.reserve);
        // Where the deadline around is the limit it stays that one's.
        let own = plan.cap.is_some() || !plan.reserve.is_zero();
        let budget = match granted.filter(|_| own) {
            Some(granted) => Budget::new(granted),
            None => Budget::inherited(),
        };
        // A cap is the program's own limit and holds in every mode.
        let always = plan.cap.is_some();
        let parent = current::inherit();
        let context = Context::below(parent, place.name, budget, place.location, always);
        // Those below, in this process and in the next one, leave repeating to this one; it has the number of the outermost.
        if repeats
            && !around.repeated
            && let (Some(node), Some(number)) = (context.node(), NonZeroU32::new(number))
        {
            node.set_attempt(number);
        }
        let attempt = Attempt { number, granted };
        let future = context.enter(|| make(attempt));
        let node = context.node().cloned();
        Self {
            attempt,
            started: around.now,
            run: Run::attempt(node, always, future),
            context,
        }
    }
}

impl<F: Future> Trial<F> {
    pub(crate) const fn attempt(&self) -> Attempt {
        self.attempt
    }

    pub(crate) const fn started(&self) -> Deadline {
        self.started
    }

    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    /// Why it is being dropped.
    pub(crate) fn cause_of_drop(&self) -> Cause {
        let around = current::with(|frame| frame.stop).flatten();
        // The own budget of the scope around is that of an ancestor here.
        let around = around.map(|cause| match cause {
            Cause::DependencyTimeout => Cause::DeadlineExceeded,
            cause => cause,
        });
        let cancelled = self.context.node().and_then(|node| node.signal.get());
        cancelled
            .map(|(cause, _)| cause)
            .or(around)
            .unwrap_or(Cause::Abandoned)
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Trial<F> {
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<T, Failure<E>>> {
        self.project().run.poll(cx).map(|ended| match ended {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::Error(error)),
            Err(stopped) => Err(Failure::Stopped(stopped)),
        })
    }
}

/// How an attempt that failed is counted.
pub(crate) fn outcome<E>(failure: &Failure<E>, kind: Kind<E>) -> AttemptOutcome {
    failure
        .stop(kind)
        .map_or(AttemptOutcome::Failed, AttemptOutcome::of_stop)
}
