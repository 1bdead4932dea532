//! [`Hedging`]: the attempts, beside each other.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::budget::HedgeBudget;
use super::latency::Latency;
use super::policy::Rules;
use crate::attempt::{
    Around, Attempt, AttemptCounts, AttemptOutcome, AttemptRecord, Failure, Kind, Place, Trial,
    Watch, forget, outcome, own_stop, refusal, unnoted, waits_at, worth_another,
};
use crate::figure::Budgeted;
use crate::scope::Timer;
use crate::stop::Cause;
use crate::time::Deadline;

pin_project! {
    /// The future of [`Hedge::run`](super::Hedge::run).
    ///
    /// What belongs to one call rather than to the policy is said here, before it is awaited:
    ///
    /// ```
    /// use std::time::Duration;
    /// use deadline_runtime::hedge::{Hedge, HedgeBudget};
    /// use deadline_runtime::{AttemptCounts, Stopped};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let (budget, counts) = (HedgeBudget::new(5, 10), AttemptCounts::default());
    /// let replica = Hedge::idempotent("read", Duration::from_millis(20))
    ///     .run(|attempt| async move {
    ///         tokio::time::sleep(Duration::from_millis(100 / u64::from(attempt.number))).await;
    ///         Ok::<_, Stopped>(attempt.number)
    ///     })
    ///     .budget(&budget)
    ///     .counts(&counts)
    ///     .await;
    /// assert_eq!(replica.unwrap(), 2);
    /// assert_eq!((counts.started(), counts.succeeded(), counts.cancelled()), (2, 1, 1));
    /// assert_eq!(budget.available(), 9);
    /// # }
    /// ```
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Hedging<M, F, E, W>
    where
        F: Future,
    {
        rules: Rules,
        latency: Option<(u8, Latency)>,
        make: M,
        worth: W,
        kind: Kind<E>,
        budget: Option<HedgeBudget>,
        // How many were begun.
        made: u32,
        // When another one is due.
        due: Option<Deadline>,
        // No further one is begun.
        closed: Option<Closed>,
        // The last failure.
        held: Option<Failure<E>>,
        // The last real error before that.
        last: Option<E>,
        // The winner's value, while the losers are joined.
        won: Option<F::Output>,
        #[pin]
        timer: Timer,
        #[pin]
        flights: Flights<F>,
    }
}

/// Why no further attempt is begun.
#[derive(Clone, Copy)]
enum Closed {
    /// All were made, one failed for good, or there are no tokens.
    Enough,
    /// What it needs, and what there was.
    NoTime(Duration, Duration),
    Over,
}

pin_project! {
    /// The attempts that are out, counted also if they are dropped.
    ///
    /// The first lies in place, because mostly it is the only one.
    struct Flights<F: Future> {
        watch: Watch,
        #[pin]
        first: Option<Trial<F>>,
        others: Vec<Pin<Box<Trial<F>>>>,
        // When they were told that another one has won.
        told: Option<Deadline>,
    }

    impl<F: Future> PinnedDrop for Flights<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let Some(trial) = this.first.as_ref().as_pin_ref() {
                let outcome = AttemptOutcome::Cancelled(trial.cause_of_drop());
                let (attempt, started) = (trial.attempt(), trial.started());
                this.first.set(None);
                this.watch.ended(attempt, started, outcome, *this.told);
            }
            for trial in this.others.drain(..) {
                let outcome = AttemptOutcome::Cancelled(trial.cause_of_drop());
                let (attempt, started) = (trial.attempt(), trial.started());
                drop(trial);
                this.watch.ended(attempt, started, outcome, *this.told);
            }
        }
    }
}

impl<F: Future> Flights<F> {
    fn out(self: Pin<&Self>) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    fn add(self: Pin<&mut Self>, trial: Trial<F>) {
        let mut this = self.project();
        this.watch.begun(trial.started());
        if this.first.is_none() {
            this.first.set(Some(trial));
        } else {
            this.others.push(Box::pin(trial));
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Flights<F> {
    /// Polls them until one has ended, which is then no longer out.
    fn poll(
        self: Pin<&mut Self>,
        kind: Kind<E>,
        cx: &mut task::Context<'_>,
    ) -> Option<(Result<T, Failure<E>>, Deadline)> {
        let mut this = self.project();
        let mut ended = None;
        if let Some(mut trial) = this.first.as_mut().as_pin_mut()
            && let Poll::Ready(value) = trial.as_mut().poll(cx)
        {
            ended = Some((value, trial.attempt(), trial.started()));
            this.first.set(None);
        }
        let mut at = 0;
        while ended.is_none()
            && let Some(trial) = this.others.get_mut(at)
        {
            if let Poll::Ready(value) = trial.as_mut().poll(cx) {
                ended = Some((value, trial.attempt(), trial.started()));
                drop(this.others.remove(at));
            }
            at += 1;
        }
        let (value, attempt, started) = ended?;
        let how = match &value {
            Ok(_) => AttemptOutcome::Succeeded,
            Err(failure) => outcome(failure, kind),
        };
        this.watch.ended(attempt, started, how, None);
        Some((value, started))
    }

    /// Tells those that are still out that another one has won.
    fn supersede(self: Pin<&mut Self>, latency: Option<&Latency>) {
        let this = self.project();
        let told = *this.told.insert(Deadline::now());
        let first = this.first.as_ref().as_pin_ref();
        for trial in first.into_iter().chain(this.others.iter().map(Pin::as_ref)) {
            trial.context().cancel(Cause::Superseded);
            if let Some(latency) = latency {
                latency.record(told.since(trial.started()));
            }
        }
    }

    /// Lets those that were told see it in a poll, so that what they do when they are stopped is done. They are dropped
    /// after it, or joined: then it is polled until none is left.
    fn poll_losers(self: Pin<&mut Self>, joins: bool, cx: &mut task::Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let told = *this.told;
        // Where nothing is enforced nothing would end them.
        let stays = |trial: &Trial<F>, polled: Poll<Result<T, Failure<E>>>| {
            joins && polled.is_pending() && trial.context().mode().enforces()
        };
        if let Some(mut trial) = this.first.as_mut().as_pin_mut() {
            let polled = trial.as_mut().poll(cx);
            if !stays(&trial, polled) {
                let (attempt, started) = (trial.attempt(), trial.started());
                this.first.set(None);
                this.watch.ended(attempt, started, LOST, told);
            }
        }
        let mut at = 0;
        while let Some(trial) = this.others.get_mut(at) {
            let polled = trial.as_mut().poll(cx);
            if stays(trial, polled) {
                at += 1;
                continue;
            }
            let (attempt, started) = (trial.attempt(), trial.started());
            drop(this.others.remove(at));
            this.watch.ended(attempt, started, LOST, told);
        }
        if this.first.is_none() && this.others.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

const LOST: AttemptOutcome = AttemptOutcome::Cancelled(Cause::Superseded);

impl<M, F: Future, E, W> Hedging<M, F, E, W> {
    pub(super) fn new(
        rules: Rules,
        latency: Option<(u8, Latency)>,
        place: Place,
        make: M,
        kind: Kind<E>,
        worth: W,
    ) -> Self {
        Self {
            rules,
            latency,
            make,
            worth,
            kind,
            budget: None,
            made: 0,
            due: None,
            closed: None,
            held: None,
            last: None,
            timer: Timer::default(),
            flights: Flights {
                watch: Watch::new(place),
                first: None,
                others: Vec::new(),
                told: None,
            },
            won: None,
        }
    }

    /// The tokens that all hedges against this dependency share.
    pub fn budget(mut self, budget: &HedgeBudget) -> Self {
        self.budget = Some(budget.clone());
        self
    }

    /// Where the attempts are counted.
    pub fn counts(mut self, counts: &AttemptCounts) -> Self {
        self.flights.watch.counts = Some(counts.clone());
        self
    }

    /// Called with each attempt when it is over, also when this future is dropped in the middle of some.
    pub fn on_attempt(mut self, listener: impl FnMut(&AttemptRecord) + Send + 'static) -> Self {
        self.flights.watch.listener = Some(Box::new(listener));
        self
    }

    /// Which of the errors that attempts return are worth another attempt. After one that is not no further attempt begins; those
    /// that are out may still succeed.
    pub fn when<P: Fn(&E) -> bool>(self, worth: P) -> Hedging<M, F, E, P> {
        Hedging {
            rules: self.rules,
            latency: self.latency,
            make: self.make,
            worth,
            kind: self.kind,
            budget: self.budget,
            made: self.made,
            due: self.due,
            closed: self.closed,
            held: self.held,
            last: self.last,
            won: self.won,
            timer: self.timer,
            flights: self.flights,
        }
    }
}

impl<M, F, T, E, W> Future for Hedging<M, F, E, W>
where
    M: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
    W: Fn(&E) -> bool,
{
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        if matches!(self.closed, Some(Closed::Over)) {
            return self.poll_won(cx);
        }
        if self.made == 0
            && let Err(error) = self.as_mut().begin_first()
        {
            *self.project().closed = Some(Closed::Over);
            return Poll::Ready(Err(error));
        }
        // One attempt a poll: such as fail at once cannot hold the thread.
        let mut begun = false;
        loop {
            let this = self.as_mut().project();
            let mut flights = this.flights;
            while let Some((value, started)) = flights.as_mut().poll(*this.kind, cx) {
                match value {
                    Ok(value) => {
                        let latency = this.latency.as_ref().map(|(_, latency)| latency);
                        if let Some(latency) = latency {
                            latency.record(Deadline::now().since(started));
                        }
                        *this.closed = Some(Closed::Over);
                        if let Some(stopped) =
                            this.held.as_ref().and_then(|held| held.stop(*this.kind))
                        {
                            forget(stopped);
                        }
                        if flights.as_ref().out() == 0 {
                            return Poll::Ready(Ok(value));
                        }
                        *this.won = Some(Ok(value));
                        flights.supersede(latency);
                        return self.poll_won(cx);
                    }
                    Err(failure) => {
                        let worth = match &failure {
                            Failure::Error(error) => (this.worth)(error),
                            Failure::Stopped(stopped) => worth_another(stopped.cause()),
                        };
                        if worth {
                            *this.due = Some(Deadline::now());
                        } else if this.closed.is_none() {
                            *this.closed = Some(Closed::Enough);
                        }
                        if let Some(held) = this.held.replace(failure) {
                            if let Some(stopped) = held.stop(*this.kind) {
                                forget(stopped);
                            }
                            *this.last = held.keep(*this.kind, this.last.take());
                        }
                    }
                }
            }
            let out = flights.as_ref().out();
            let open = this.closed.is_none() && out < this.rules.in_flight;
            let due = this.due.filter(|_| open);
            if due.is_some_and(|due| due <= Deadline::now()) {
                if begun {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                begun = true;
                self.as_mut().begin_another();
                continue;
            }
            if out > 0 {
                waits_at(flights.project().watch.place);
                this.timer.wait(due, cx);
                return Poll::Pending;
            }
            return Poll::Ready(Err(self.as_mut().failed()));
        }
    }
}

impl<M, F, T, E, W> Hedging<M, F, E, W>
where
    M: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
{
    /// The winner's value, once the losers are gone. Polled after its end nothing will ever come.
    fn poll_won(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if this.won.is_none() {
            return Poll::Pending;
        }
        let flights = this.flights;
        // Their stops are nobody's error.
        ready!(unnoted(|| flights.poll_losers(this.rules.joins, cx)));
        this.won.take().map_or(Poll::Pending, Poll::Ready)
    }

    /// The first attempt, or why it may not begin.
    fn begin_first(mut self: Pin<&mut Self>) -> Result<(), E> {
        let this = self.as_mut().project();
        let watch = this.flights.project().watch;
        let (place, plan) = (watch.place, &this.rules.plan);
        let around = Around::look();
        if around.stopped {
            watch.denied(1, STOPPED);
            return Err((this.kind.of_stop)(own_stop(place, false)));
        }
        if let Some(needed) = around.lacks(Duration::ZERO, plan.least, plan.reserve) {
            watch.denied(1, NO_TIME);
            let stopped = refusal(place, needed, false, 0, around.now);
            return Err((this.kind.of_stop)(stopped));
        }
        if let Some((percent, latency)) = this.latency
            && let Some(seen) = latency.percentile(*percent)
        {
            this.rules.delay = seen;
        }
        if let Some(budget) = this.budget {
            budget.deposit();
        }
        self.begin(&around);
        Ok(())
    }

    /// Another attempt if there is time and a token for one. If not, there will be none later either.
    fn begin_another(mut self: Pin<&mut Self>) {
        let this = self.as_mut().project();
        let watch = this.flights.project().watch;
        let plan = &this.rules.plan;
        let number = this.made.saturating_add(1);
        let around = Around::look();
        *this.closed = if *this.made >= this.rules.attempts {
            Some(Closed::Enough)
        } else if around.stopped {
            watch.denied(number, STOPPED);
            Some(Closed::Enough)
        } else if let Some((needs, has)) = around.lacks(Duration::ZERO, plan.least, plan.reserve) {
            watch.denied(number, NO_TIME);
            Some(Closed::NoTime(needs, has))
        } else if this
            .budget
            .as_ref()
            .is_some_and(|budget| !budget.withdraw())
        {
            watch.denied(number, "the dependency's budget for extra load is used up");
            Some(Closed::Enough)
        } else {
            None
        };
        if this.closed.is_none() {
            self.begin(&around);
        }
    }

    fn begin(self: Pin<&mut Self>, around: &Around) {
        let mut this = self.project();
        let place = this.flights.as_mut().project().watch.place;
        *this.made = this.made.saturating_add(1);
        let trial = Trial::begin(
            place,
            &this.rules.plan,
            *this.made,
            false,
            around,
            this.make,
        );
        this.flights.add(trial);
        *this.due = Some(around.now.plus(this.rules.delay));
    }

    /// Nothing is out any more and nothing follows.
    fn failed(self: Pin<&mut Self>) -> E {
        let this = self.project();
        let watch = this.flights.project().watch;
        let (place, kind) = (watch.place, *this.kind);
        let last = this.last.take();
        let closed = this.closed.replace(Closed::Over);
        let own = Around::look().stopped.then(|| own_stop(place, true));
        match (this.held.take(), own, closed) {
            (Some(failure), Some(own), _) => failure.in_stopped_scope(kind, last, own),
            (Some(failure), None, Some(Closed::NoTime(needs, has))) => {
                let stopped = refusal(place, (needs, has), false, *this.made, watch.first());
                failure.behind(kind, last, stopped)
            }
            (Some(failure), None, _) => failure.into_error(kind, last),
            // An attempt that is no longer out has ended: with a failure, if this is reached.
            (None, own, _) => {
                let stopped = own.unwrap_or_else(|| {
                    let none = Duration::ZERO;
                    refusal(place, (none, none), false, *this.made, watch.first())
                });
                (kind.of_stop)(stopped)
            }
        }
    }
}

const STOPPED: &str = "the scope around is stopped";
const NO_TIME: &str = "too little time is left";

impl<M, F, T, E, W> Budgeted for Hedging<M, F, E, W>
where
    M: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>> + Budgeted,
    W: Fn(&E) -> bool,
{
    type Budget = F::Budget;
}
