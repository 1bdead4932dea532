//! [`Retrying`]: the attempts, one after the other.
//!
//! ```text
//! Due ──begin──▶ Trying ──value──▶ Over
//!  ▲ │              │ failed
//!  │ │ no time,     ├──no further attempt──▶ Over
//!  │ │ stopped      │ another one fits
//!  │ └──▶ Over      ▼
//!  └──────────── Waiting
//! ```

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::advice::{Advice, Pushback, Retryable};
use super::backoff::Waits;
use super::budget::RetryBudget;
use super::policy::Rules;
use crate::attempt::{
    Around, Attempt, AttemptCounts, AttemptOutcome, AttemptRecord, Failure, Kind, Place, Trial,
    Watch, forget, outcome, own_stop, refusal, waits_at,
};
use crate::figure::{Budgeted, Figure};
use crate::scope::{TARGET, Timer};
use crate::stop::{Phase as StopPhase, Sent, Stopped};
use crate::time::{Deadline, Short};

pin_project! {
    /// The future of [`Retry::run`](super::Retry::run).
    ///
    /// What belongs to one call rather than to the policy is said here, before it is awaited:
    ///
    /// ```
    /// use deadline_runtime::AttemptCounts;
    /// use deadline_runtime::retry::{Retry, RetryBudget};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let (budget, counts) = (RetryBudget::default(), AttemptCounts::default());
    /// let value = Retry::idempotent("read")
    ///     .run(|attempt| async move {
    ///         if attempt.is_first() { Err(deadline_error()) } else { Ok(7) }
    ///     })
    ///     .when(|error| error.to_string() == "busy")
    ///     .budget(&budget)
    ///     .counts(&counts)
    ///     .await;
    /// assert_eq!(value.unwrap(), 7);
    /// assert_eq!((counts.started(), counts.failed(), counts.succeeded()), (2, 1, 1));
    /// assert_eq!(budget.available(), 9);
    /// # }
    /// # fn deadline_error() -> Box<dyn std::error::Error + Send + Sync> { "busy".into() }
    /// ```
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Retrying<B, M, F, E, J>
    where
        F: Future,
    {
        rules: Rules,
        make: M,
        judge: J,
        kind: Kind<E>,
        budget: Option<RetryBudget>,
        waits: Option<Waits>,
        // What is left for waiting.
        allowed: Option<Duration>,
        // How many were begun.
        made: u32,
        // The failure that the next attempt answers.
        held: Option<Failure<E>>,
        // The last real error before that.
        last: Option<E>,
        #[pin]
        tries: Tries<F>,
        figure: PhantomData<fn() -> B>,
    }
}

pin_project! {
    /// The attempt in flight, counted also if it is dropped.
    struct Tries<F: Future> {
        watch: Watch,
        #[pin]
        phase: Phase<F>,
    }

    impl<F: Future> PinnedDrop for Tries<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let Stage::Trying { trial } = this.phase.as_mut().project() else {
                return;
            };
            let outcome = AttemptOutcome::Cancelled(trial.cause_of_drop());
            let (attempt, started) = (trial.attempt(), trial.started());
            // Its destructors run before it is counted as over.
            this.phase.set(Phase::Over);
            this.watch.ended(attempt, started, outcome, None);
        }
    }
}

pin_project! {
    #[project = Stage]
    enum Phase<F: Future> {
        Due,
        Trying { #[pin] trial: Trial<F> },
        Waiting { until: Deadline, #[pin] timer: Timer },
        // One turn of the scheduler, so that attempts which fail at once and without a wait cannot hold the thread.
        Yielding,
        Over,
    }
}

/// What is asked about errors unless a closure is given.
pub type Judge<E> = fn(&E) -> Advice;

/// What comes after a failure.
enum After<E> {
    Retry(Duration, Failure<E>),
    End(E),
}

impl<B, M, F: Future, E, J> Retrying<B, M, F, E, J> {
    pub(super) fn new(rules: Rules, place: Place, make: M, kind: Kind<E>, judge: J) -> Self {
        Self {
            rules,
            make,
            judge,
            kind,
            budget: None,
            waits: None,
            allowed: rules.waits,
            made: 0,
            held: None,
            last: None,
            tries: Tries {
                watch: Watch::new(place),
                phase: Phase::Due,
            },
            figure: PhantomData,
        }
    }

    /// The tokens that all retries against this dependency share.
    pub fn budget(mut self, budget: &RetryBudget) -> Self {
        self.budget = Some(budget.clone());
        self
    }

    /// Where the attempts are counted.
    pub fn counts(mut self, counts: &AttemptCounts) -> Self {
        self.tries.watch.counts = Some(counts.clone());
        self
    }

    /// Called with each attempt when it is over, also when this future is dropped in the middle of one.
    pub fn on_attempt(mut self, listener: impl FnMut(&AttemptRecord) + Send + 'static) -> Self {
        self.tries.watch.listener = Some(Box::new(listener));
        self
    }

    /// Asks `advise` about every error an attempt returns, instead of retrying all but the stops that are not worth it.
    ///
    /// It is not asked about stops of the scope around, which are never tried again, nor about attempts that used up their
    /// cap.
    pub fn advise<A: Fn(&E) -> Advice>(self, advise: A) -> Retrying<B, M, F, E, A> {
        self.judged(|_| advise)
    }

    /// Which of the errors that attempts return are worth another one.
    pub fn when(self, worth: impl Fn(&E) -> bool) -> Retrying<B, M, F, E, impl Fn(&E) -> Advice>
    where
        J: Fn(&E) -> Advice,
    {
        self.judged(|judge| {
            move |error: &E| Advice {
                retry: worth(error),
                ..judge(error)
            }
        })
    }

    /// What an error says about when to come back, such as the `Retry-After` of an answer.
    pub fn retry_after(
        self,
        after: impl Fn(&E) -> Option<Duration>,
    ) -> Retrying<B, M, F, E, impl Fn(&E) -> Advice>
    where
        J: Fn(&E) -> Advice,
    {
        self.judged(|judge| {
            move |error: &E| {
                let advice = judge(error);
                match after(error) {
                    Some(wait) => advice.after(wait),
                    None => advice,
                }
            }
        })
    }

    /// Asks the errors themselves.
    pub fn classified(self) -> Retrying<B, M, F, E, Judge<E>>
    where
        E: Retryable,
    {
        self.judged(|_| E::advice as Judge<E>)
    }

    fn judged<A>(self, judge: impl FnOnce(J) -> A) -> Retrying<B, M, F, E, A> {
        Retrying {
            rules: self.rules,
            make: self.make,
            judge: judge(self.judge),
            kind: self.kind,
            budget: self.budget,
            waits: self.waits,
            allowed: self.allowed,
            made: self.made,
            held: self.held,
            last: self.last,
            tries: self.tries,
            figure: PhantomData,
        }
    }
}

impl<B, M, F, T, E, J> Future for Retrying<B, M, F, E, J>
where
    M: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
    J: Fn(&E) -> Advice,
{
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        loop {
            let this = self.as_mut().project();
            let mut tries = this.tries.project();
            match tries.phase.as_mut().project() {
                Stage::Due => {
                    if let Err(error) = self.as_mut().begin() {
                        return Poll::Ready(Err(error));
                    }
                }
                Stage::Trying { mut trial } => {
                    let ended = ready!(trial.as_mut().poll(cx));
                    let (attempt, started) = (trial.attempt(), trial.started());
                    let result = match &ended {
                        Ok(_) => AttemptOutcome::Succeeded,
                        Err(failure) => outcome(failure, *this.kind),
                    };
                    tries.phase.set(Phase::Over);
                    tries.watch.ended(attempt, started, result, None);
                    let failure = match ended {
                        Ok(value) => {
                            if let Some(budget) = this.budget {
                                budget.deposit();
                            }
                            return Poll::Ready(Ok(value));
                        }
                        Err(failure) => failure,
                    };
                    match self.as_mut().after(failure) {
                        After::End(error) => return Poll::Ready(Err(error)),
                        After::Retry(wait, failure) => self.as_mut().wait(wait, failure),
                    }
                }
                Stage::Waiting { until, timer } => {
                    // A stop of the scope around is answered at once: with the error that is being waited for.
                    let around = Around::look();
                    if *until > around.now && !around.stopped {
                        waits_at(tries.watch.place);
                        timer.wait(Some(*until), cx);
                        return Poll::Pending;
                    }
                    tries.phase.set(Phase::Due);
                }
                Stage::Yielding => {
                    tries.phase.set(Phase::Due);
                    waits_at(tries.watch.place);
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                // Polled after its end: nothing will ever come.
                Stage::Over => return Poll::Pending,
            }
        }
    }
}

impl<B, M, F, T, E, J> Retrying<B, M, F, E, J>
where
    M: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
    J: Fn(&E) -> Advice,
{
    /// Due → Trying, or → Over if it may not begin.
    fn begin(self: Pin<&mut Self>) -> Result<(), E> {
        let this = self.project();
        let mut tries = this.tries.project();
        let place = tries.watch.place;
        let kind = *this.kind;
        let number = this.made.saturating_add(1);
        let held = this.held.take();
        // A wait may have ended late, and the first attempt is held to the rules as well.
        let mut end = |error| {
            tries.phase.set(Phase::Over);
            Err(error)
        };
        let around = Around::look();
        if around.stopped {
            let stopped = own_stop(place, *this.made > 0);
            tries.watch.denied(number, "the scope around is stopped");
            let last = match held {
                Some(failure) => failure.keep(kind, this.last.take()),
                None => None,
            };
            return end(kind.error(stopped, last));
        }
        let plan = &this.rules.plan;
        if let Some(needed) = around.lacks(Duration::ZERO, plan.least, plan.reserve) {
            tries.watch.denied(number, "too little time is left");
            let stopped = refusal(place, needed, false, *this.made, first(tries.watch, around));
            return end(match held {
                Some(failure) => failure.behind(kind, this.last.take(), stopped),
                None => (kind.of_stop)(stopped),
            });
        }
        if let Some(failure) = held {
            if this
                .budget
                .as_ref()
                .is_some_and(|budget| !budget.withdraw())
            {
                tries.watch.denied(number, NO_TOKENS);
                return end(failure.into_error(kind, this.last.take()));
            }
            if let Some(stopped) = failure.stop(kind) {
                forget(stopped);
            }
            *this.last = failure.keep(kind, this.last.take());
        }
        *this.made = number;
        let repeats = this.rules.attempts > 1;
        let trial = Trial::begin(place, plan, number, repeats, &around, this.make);
        tries.watch.begun(around.now);
        tries.phase.set(Phase::Trying { trial });
        Ok(())
    }

    /// Whether another attempt follows this failure.
    fn after(self: Pin<&mut Self>, failure: Failure<E>) -> After<E> {
        let this = self.project();
        let tries = this.tries.project();
        let watch = tries.watch;
        let (place, kind) = (watch.place, *this.kind);
        let next = this.made.saturating_add(1);
        let mut give_up = |why: &str, failure: Failure<E>| {
            tracing::debug!(target: TARGET, op = place.name, attempt = *this.made, "{why}");
            After::End(failure.into_error(kind, this.last.take()))
        };
        let around = Around::look();
        if around.stopped {
            let own = own_stop(place, true);
            return After::End(failure.in_stopped_scope(kind, this.last.take(), own));
        }
        if *this.made >= this.rules.attempts {
            return give_up("no further attempt: all were made", failure);
        }
        if around.repeated && !this.rules.nested {
            return give_up("no further attempt: somebody above repeats", failure);
        }
        let advice = match &failure {
            Failure::Error(error) => (this.judge)(error),
            Failure::Stopped(stopped) => of_trial(stopped, this.rules.timeouts),
        };
        let never = advice.pushback == Some(Pushback::Never);
        if !advice.retry || never {
            return give_up("no further attempt: it would fail as well", failure);
        }
        if !this.rules.idempotent && advice.sent == Sent::Unknown {
            return give_up(
                "no further attempt: this one may have taken effect",
                failure,
            );
        }
        let wait = if let Some(Pushback::After(wait)) = advice.pushback {
            wait
        } else {
            let waits = this.waits.get_or_insert_with(|| this.rules.backoff.waits());
            let wait = waits.next();
            this.allowed.map_or(wait, |allowed| wait.min(allowed))
        };
        let plan = &this.rules.plan;
        // A wait that the policy has no room for fits no more than one that the deadline has none for.
        let too_long = this.allowed.filter(|allowed| wait > *allowed);
        let lacks = too_long
            .map(|allowed| (wait, allowed))
            .or_else(|| around.lacks(wait, plan.least, plan.reserve));
        if let Some(needed) = lacks {
            watch.denied(next, "it would not fit");
            let stopped = refusal(place, needed, too_long.is_some(), *this.made, watch.first());
            return After::End(failure.behind(kind, this.last.take(), stopped));
        }
        if this.budget.as_ref().is_some_and(|budget| !budget.allows()) {
            watch.denied(next, NO_TOKENS);
            return After::End(failure.into_error(kind, this.last.take()));
        }
        tracing::debug!(
            target: TARGET,
            op = place.name,
            attempt = next,
            wait = %Short(wait),
            "attempt {next} follows"
        );
        After::Retry(wait, failure)
    }

    /// → Waiting, or → Yielding where no wait was asked for.
    fn wait(self: Pin<&mut Self>, wait: Duration, failure: Failure<E>) {
        let this = self.project();
        let mut tries = this.tries.project();
        *this.held = Some(failure);
        if let Some(allowed) = this.allowed {
            *allowed = allowed.saturating_sub(wait);
        }
        tries.phase.set(if wait.is_zero() {
            Phase::Yielding
        } else {
            Phase::Waiting {
                until: Deadline::after(wait),
                timer: Timer::default(),
            }
        });
    }
}

const NO_TOKENS: &str = "the dependency's budget for retries is used up";

/// When the first attempt began, or would have.
fn first(watch: &Watch, around: Around) -> Deadline {
    around.now.min(watch.first())
}

/// The attempt's own scope was stopped.
fn of_trial(stopped: &Stopped, timeouts: bool) -> Advice {
    let advice = stopped.advice();
    Advice {
        retry: advice.retry && timeouts,
        // Of a scope that was not refused the body has run, whatever it was waiting for.
        sent: match stopped.phase() {
            StopPhase::Start => Sent::NotSent,
            _ => Sent::Unknown,
        },
        ..advice
    }
}

impl<B, M, F, T, E, J> Budgeted for Retrying<B, M, F, E, J>
where
    B: Figure,
    M: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
    J: Fn(&E) -> Advice,
{
    type Budget = B;
}
