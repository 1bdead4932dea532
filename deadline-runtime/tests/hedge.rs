//! Trying beside: when another attempt begins, who wins, what becomes of the others.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::error::Error;
use std::fmt;
use std::future::{Future, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::ms;
use deadline_runtime::hedge::{Hedge, HedgeBudget, Latency};
use deadline_runtime::{
    Attempt, AttemptCounts, AttemptOutcome, AttemptRecord, Budget, Budgeted, Cause, Context,
    Millis, Mode, Phase, Stopped, deadline,
};
use proptest::prelude::*;
use tokio::time::{Instant, sleep};

#[derive(Debug)]
enum AppError {
    Real(u32),
    Stopped(Stopped),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(number) => write!(f, "error of attempt {number}"),
            Self::Stopped(stopped) => write!(f, "stopped: {stopped}"),
        }
    }
}

impl Error for AppError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Real(_) => None,
            Self::Stopped(stopped) => Some(stopped),
        }
    }
}

impl From<Stopped> for AppError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl AppError {
    fn stopped(self) -> Stopped {
        match self {
            Self::Stopped(stopped) => stopped,
            real => panic!("not a stop: {real}"),
        }
    }

    fn real(self) -> u32 {
        match self {
            Self::Real(number) => number,
            stopped => panic!("not a real error: {stopped}"),
        }
    }
}

fn behind(stopped: &Stopped) -> Option<u32> {
    match stopped.source()?.downcast_ref::<AppError>()? {
        AppError::Real(number) => Some(*number),
        AppError::Stopped(_) => None,
    }
}

#[derive(Clone)]
struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Log<T> {
    fn note(&self, what: T) {
        self.0.lock().unwrap().push(what);
    }

    fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

async fn within<F: Future>(budget: u64, future: F) -> F::Output {
    let request = Context::root("request", Budget::new(ms(budget)));
    request.run(future).await.unwrap()
}

async fn within_reserving<F: Future>(budget: u64, reserve: u64, future: F) -> F::Output {
    let budget = Budget::new(ms(budget + reserve)).reserve(ms(reserve));
    Context::root("request", budget).run(future).await.unwrap()
}

/// Succeeded, failed, timed out, refused, cancelled.
fn balanced(counts: &AttemptCounts) -> [u64; 5] {
    assert_eq!(counts.started(), counts.ended());
    [
        counts.succeeded(),
        counts.failed(),
        counts.timed_out(),
        counts.refused(),
        counts.cancelled(),
    ]
}

fn hedge(delay: u64) -> Hedge {
    Hedge::idempotent("quote", ms(delay))
}

type Outcome<T = u32> = Result<T, AppError>;

#[tokio::test(start_paused = true)]
async fn attempts_are_sent_one_delay_apart_and_none_after_the_end() {
    let starts = Log::default();
    let counts = AttemptCounts::default();
    let begun = Instant::now();
    let outcome: Outcome = within_reserving(1_200, 300, async {
        hedge(500)
            .attempts(10)
            .max_in_flight(10)
            .run(|_| {
                starts.note(begun.elapsed());
                pending()
            })
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(starts.all(), [0, 500, 1_000].map(ms));
    assert_eq!(begun.elapsed(), ms(1_200));
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.limited_by().operation(), "request");
    assert_eq!(balanced(&counts), [0, 0, 3, 0, 0]);
}

/// The first never answers; the second fails at 60, what replaces it at `third`.
async fn replacing(third: Option<u64>) -> (Outcome, Vec<Duration>, usize, AttemptCounts) {
    let starts = Log::default();
    let out = Arc::new(Mutex::new((0_usize, 0_usize)));
    let counts = AttemptCounts::default();
    let begun = Instant::now();
    let outcome = within_reserving(120, 30, async {
        hedge(50)
            .attempts(10)
            .max_in_flight(2)
            .min_attempt(ms(40))
            .run(|attempt| {
                starts.note(begun.elapsed());
                let out = out.clone();
                async move {
                    {
                        let mut out = out.lock().unwrap();
                        out.0 += 1;
                        out.1 = out.1.max(out.0);
                    }
                    let fails_at = match attempt.number {
                        1 => None,
                        2 => Some(60),
                        3 => third,
                        _ => None,
                    };
                    match fails_at {
                        Some(at) => tokio::time::sleep_until(begun + ms(at)).await,
                        None => pending().await,
                    }
                    out.lock().unwrap().0 -= 1;
                    Err(AppError::Real(attempt.number))
                }
            })
            .counts(&counts)
            .await
    })
    .await;
    let most = out.lock().unwrap().1;
    (outcome, starts.all(), most, counts)
}

#[tokio::test(start_paused = true)]
async fn one_that_failed_is_replaced_at_once_while_there_is_time() {
    // There are 60 left, and 40 are needed.
    let (outcome, starts, most, counts) = replacing(None).await;
    assert_eq!(starts, [0, 50, 60].map(ms));
    assert_eq!(most, 2);
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(behind(&stopped), Some(2));
    assert_eq!(balanced(&counts), [0, 1, 2, 0, 0]);

    // At 80 there are exactly 40 left.
    let (_, starts, most, counts) = replacing(Some(80)).await;
    assert_eq!(starts, [0, 50, 60, 80].map(ms));
    assert_eq!(most, 2);
    assert_eq!(balanced(&counts), [0, 2, 2, 0, 0]);

    // None after that.
    let (outcome, starts, _, counts) = replacing(Some(81)).await;
    assert_eq!(starts, [0, 50, 60].map(ms));
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(behind(&stopped), Some(3));
    assert_eq!(balanced(&counts), [0, 2, 1, 0, 0]);
    assert_eq!(counts.not_started(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_first_success_wins_and_each_is_counted_once() {
    let records = Log::default();
    let listener = records.clone();
    let counts = AttemptCounts::default();
    let begun = Instant::now();
    let outcome: Outcome = within(1_000, async {
        hedge(50)
            .attempts(3)
            .max_in_flight(3)
            .run(|attempt| async move {
                match attempt.number {
                    2 => sleep(ms(80)).await,
                    _ => pending().await,
                }
                Ok(attempt.number)
            })
            .counts(&counts)
            .on_attempt(move |record| listener.note(*record))
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(begun.elapsed(), ms(130));
    assert_eq!(balanced(&counts), [1, 0, 0, 0, 2]);
    let lost = AttemptOutcome::Cancelled(Cause::Superseded);
    let all: Vec<_> = records
        .all()
        .iter()
        .map(|r: &AttemptRecord| (r.number, r.started, r.elapsed, r.outcome, r.stop_lag))
        .collect();
    assert_eq!(
        all,
        [
            (2, ms(50), ms(80), AttemptOutcome::Succeeded, None),
            (1, ms(0), ms(130), lost, Some(Duration::ZERO)),
            (3, ms(100), ms(30), lost, Some(Duration::ZERO)),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_first_waits_for_the_other() {
    for (fails, expected) in [(1, 2), (2, 1)] {
        let counts = AttemptCounts::default();
        let begun = Instant::now();
        let outcome: Outcome = within(1_000, async {
            hedge(20)
                .run(|attempt| async move {
                    if attempt.number == fails {
                        sleep(ms(30)).await;
                        return Err(AppError::Real(fails));
                    }
                    sleep(ms(200)).await;
                    Ok(attempt.number)
                })
                .counts(&counts)
                .await
        })
        .await;
        assert_eq!(outcome.unwrap(), expected);
        assert_eq!(begun.elapsed(), ms(if fails == 1 { 220 } else { 200 }));
        assert_eq!(balanced(&counts), [1, 1, 0, 0, 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_the_last_real_error_comes_back() {
    let outcome: Outcome = within(1_000, async {
        hedge(50)
            .run(|attempt| async move { Err(AppError::Real(attempt.number)) })
            .await
    })
    .await;
    assert_eq!(outcome.unwrap_err().real(), 2);

    // Only time was wanting for another one.
    let begun = Instant::now();
    let outcome: Outcome = within(100, async {
        hedge(500)
            .attempts(5)
            .min_attempt(ms(40))
            .run(|attempt| async move {
                sleep(ms(65)).await;
                Err(AppError::Real(attempt.number))
            })
            .await
    })
    .await;
    assert_eq!(begun.elapsed(), ms(65));
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
    assert_eq!(stopped.phase(), Phase::Start);
    assert_eq!(stopped.needed(), Some((ms(40), ms(35))));
    assert_eq!(behind(&stopped), Some(1));
    let text = stopped.to_string();
    assert!(
        text.starts_with(
            "quote refused after 1 attempt: local_budget_rejected: next attempt would not fit: needs 40ms, has 35ms"
        ),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_needs_its_least_as_well() {
    for (budget, runs) in [(49, false), (50, true)] {
        let counts = AttemptCounts::default();
        let outcome: Outcome = within(budget, async {
            hedge(10)
                .min_attempt(ms(30))
                .reserve(ms(20))
                .run(|_| async { Ok(1) })
                .counts(&counts)
                .await
        })
        .await;
        assert_eq!(counts.started(), u64::from(runs));
        assert_eq!(outcome.is_ok(), runs);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_is_not_worth_it_starts_no_other_and_stops_none() {
    let counts = AttemptCounts::default();
    let outcome: Outcome = within(1_000, async {
        hedge(50)
            .attempts(5)
            .max_in_flight(5)
            .run(|attempt| async move {
                if attempt.is_first() {
                    sleep(ms(70)).await;
                    return Err(AppError::Real(1));
                }
                sleep(ms(200)).await;
                Ok(attempt.number)
            })
            .when(|error| !matches!(error, AppError::Real(1)))
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(balanced(&counts), [1, 1, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_winners_context_is_not_the_losers() {
    let contexts = Log::default();
    let outcome: Outcome<Context> = within(1_000, async {
        let winner: Outcome<Context> = hedge(50)
            .run(|attempt| {
                let contexts = contexts.clone();
                async move {
                    let own = Context::current();
                    contexts.note(own.clone());
                    match attempt.number {
                        1 => pending().await,
                        _ => sleep(ms(30)).await,
                    }
                    Ok(own)
                }
            })
            .await;
        // What is read after the winner was returned is not cut.
        let winner = winner?;
        sleep(ms(100)).await;
        winner.check()?;
        let body = winner.run(async { sleep(ms(100)).await }).await;
        assert!(body.is_ok());
        Ok(winner)
    })
    .await;
    let winner = outcome.unwrap();
    assert_eq!(winner.cause(), None);
    let causes: Vec<_> = contexts.all().iter().map(Context::cause).collect();
    assert_eq!(causes, [Some(Cause::Superseded), None]);
    assert_eq!(Context::current().cause(), None);
}

/// Says in which order things were dropped.
struct Guard(Log<&'static str>, &'static str);
impl Drop for Guard {
    fn drop(&mut self) {
        self.0.note(self.1);
    }
}

#[tokio::test(start_paused = true)]
async fn losers_tidy_up_and_are_gone_before_the_winner_is_returned() {
    let events = Log::default();
    let outcome: Outcome = within(1_000, async {
        let value = hedge(50)
            .run(|attempt| {
                let events = events.clone();
                async move {
                    if attempt.number == 2 {
                        sleep(ms(10)).await;
                        events.note("won");
                        return Ok(2);
                    }
                    let _guard = Guard(events.clone(), "dropped");
                    let seen = events.clone();
                    let slow: Result<u32, Stopped> = scoped!(Millis<900>, "slow".cleanup(50), {
                        match common::rt::guard(pending::<()>()).await {
                            Ok(()) => Ok(1),
                            Err(stopped) => {
                                assert_eq!(stopped.cause(), Cause::Superseded);
                                seen.note("tidied up");
                                Err(stopped)
                            }
                        }
                    })
                    .await;
                    Ok(slow?)
                }
            })
            .await;
        events.note("returned");
        value
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(events.all(), ["won", "tidied up", "dropped", "returned"]);
}

#[tokio::test(start_paused = true)]
async fn losers_that_are_joined_have_tidied_up_to_the_end() {
    let events = Log::default();
    let records = Log::default();
    let listener = records.clone();
    let begun = Instant::now();
    let outcome: Outcome = within(1_000, async {
        let value = hedge(50)
            .join_losers()
            .run(|attempt| {
                let events = events.clone();
                async move {
                    if attempt.number == 2 {
                        sleep(ms(10)).await;
                        return Ok(2);
                    }
                    let slow: Result<u32, Stopped> = scoped!(Millis<900>, "slow".cleanup(100), {
                        let seen = common::rt::guard(pending::<()>()).await;
                        // Giving back what it holds takes a while.
                        sleep(ms(30)).await;
                        events.note("given back");
                        seen.map(|()| 1)
                    })
                    .await;
                    Ok(slow?)
                }
            })
            .on_attempt(move |record| listener.note(*record))
            .await;
        events.note("returned");
        value
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(events.all(), ["given back", "returned"]);
    assert_eq!(begun.elapsed(), ms(90));
    let lost = records.all()[1];
    assert_eq!((lost.number, lost.stop_lag), (1, Some(ms(30))));
}

#[tokio::test(start_paused = true)]
async fn spawned_losers_are_joined_before_the_winner_is_returned() {
    let events = Log::default();
    let counts = AttemptCounts::default();
    let begun = Instant::now();
    let outcome: Outcome<Context> = within(1_000, async {
        let value: Outcome<Context> = hedge(50)
            .attempts(3)
            .max_in_flight(3)
            .run_spawned(|attempt| {
                let events = events.clone();
                async move {
                    if attempt.number == 3 {
                        sleep(ms(20)).await;
                        return Ok(Context::current());
                    }
                    let _guard = Guard(events, "dropped");
                    pending().await
                }
            })
            .counts(&counts)
            .await;
        events.note("returned");
        value
    })
    .await;
    assert_eq!(outcome.unwrap().cause(), None);
    assert_eq!(events.all(), ["dropped", "dropped", "returned"]);
    assert_eq!(begun.elapsed(), ms(120));
    assert_eq!(balanced(&counts), [1, 0, 0, 0, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_spawned_attempt_has_the_deadline_and_ends_with_it() {
    let counts = AttemptCounts::default();
    let seen = Log::default();
    let outcome: Outcome = within_reserving(100, 30, async {
        hedge(40)
            .run_spawned(|_| {
                let seen = seen.clone();
                async move {
                    seen.note(Context::current().remaining().unwrap());
                    pending().await
                }
            })
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(seen.all(), [ms(100), ms(60)]);
    assert_eq!(
        outcome.unwrap_err().stopped().cause(),
        Cause::DeadlineExceeded
    );
    assert_eq!(balanced(&counts), [0, 0, 2, 0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spawned_attempt_that_computes_does_not_hold_the_others_up() {
    let begun = std::time::Instant::now();
    let outcome: Outcome<Duration> = within(30_000, async {
        hedge(20)
            .run_spawned(move |attempt| async move {
                if attempt.is_first() {
                    std::thread::sleep(Duration::from_millis(600));
                }
                Ok(begun.elapsed())
            })
            .await
    })
    .await;
    // When the second answered, not when it was handed out: the first cannot be stopped and is waited for a while.
    assert!(outcome.unwrap() < Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn dropped_while_it_joins_all_are_counted() {
    let counts = AttemptCounts::default();
    let hedged = hedge(10)
        .join_losers()
        .run(|attempt| async move {
            if attempt.number == 2 {
                return Ok::<_, AppError>(2);
            }
            let slow: Result<u32, Stopped> = scoped!(Millis<900>, "slow".cleanup(500), {
                let _ = common::rt::guard(pending::<()>()).await;
                sleep(ms(300)).await;
                Ok(1)
            })
            .await;
            Ok(slow?)
        })
        .counts(&counts);
    assert!(
        tokio::time::timeout(ms(50), within(1_000, hedged))
            .await
            .is_err()
    );
    assert_eq!(balanced(&counts), [1, 0, 0, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_a_child_with_what_is_left_at_its_start() {
    let seen = Log::default();
    let outcome: Outcome = within(300, async {
        hedge(50)
            .attempts(3)
            .max_in_flight(3)
            .attempt_cap(ms(220))
            .reserve(ms(20))
            .run(|attempt| {
                let seen = seen.clone();
                async move {
                    seen.note(Context::current().remaining().unwrap());
                    assert_eq!(attempt.granted, Context::current().remaining());
                    if attempt.number < 3 {
                        pending::<()>().await;
                    }
                    Ok(attempt.number)
                }
            })
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 3);
    assert_eq!(seen.all(), [220, 220, 180].map(ms));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_used_up_its_cap_is_replaced() {
    let starts = Log::default();
    let begun = Instant::now();
    let counts = AttemptCounts::default();
    let outcome: Outcome = within(1_000, async {
        hedge(500)
            .attempts(3)
            .attempt_cap(ms(100))
            .run(|attempt| {
                starts.note(begun.elapsed());
                async move {
                    if attempt.number < 3 {
                        pending::<()>().await;
                    }
                    Ok(attempt.number)
                }
            })
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 3);
    assert_eq!(starts.all(), [0, 100, 200].map(ms));
    assert_eq!(balanced(&counts), [1, 0, 2, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn extra_load_is_bounded_over_all_calls() {
    let budget = HedgeBudget::new(5, 10);
    let counts = AttemptCounts::default();
    let fast = || async {
        within(
            1_000,
            hedge(10)
                .run(|_| async { Ok::<_, AppError>(1) })
                .budget(&budget)
                .counts(&counts),
        )
        .await
        .unwrap();
    };
    for _ in 0..1_000 {
        fast().await;
    }
    // Calls that are not hedged leave it as it is.
    assert_eq!(budget.available(), 10);
    assert_eq!(counts.started(), 1_000);
    for _ in 0..1_000 {
        let slow = hedge(10)
            .run(|_| async {
                sleep(ms(20)).await;
                Ok::<_, AppError>(1)
            })
            .budget(&budget)
            .counts(&counts);
        within(1_000, slow).await.unwrap();
    }
    let extra = counts.started() - 2_000;
    // The burst, and a twentieth of the calls but the first, which finds it full.
    assert_eq!(extra, 10 + 999 * 5 / 100);
    assert_eq!(counts.not_started(), 1_000 - extra);
    balanced(&counts);
}

#[tokio::test(start_paused = true)]
async fn the_delay_is_a_percentile_of_what_was_seen() {
    let latency = Latency::new(Duration::from_secs(60));
    let policy = hedge(500).percentile(90, &latency);
    let seen = Log::default();
    let call = |takes: u64| {
        let (policy, seen) = (policy.clone(), seen.clone());
        async move {
            let begun = Instant::now();
            let run = policy.run(move |attempt: Attempt| {
                if !attempt.is_first() {
                    seen.note(begun.elapsed());
                }
                async move {
                    sleep(ms(takes)).await;
                    Ok::<_, AppError>(attempt.number)
                }
            });
            within(10_000, run).await.unwrap()
        }
    };
    // Too few are known: the fixed delay.
    assert_eq!(call(501).await, 1);
    assert_eq!(seen.all(), [ms(500)]);
    for millis in 1..=98 {
        latency.record(ms(millis));
    }
    // Those, and a winner and a loser of the first call.
    assert_eq!(call(400).await, 1);
    let delay = seen.all()[1];
    assert!(delay >= ms(91) && delay <= ms(95), "{delay:?}");
}

#[tokio::test(start_paused = true)]
async fn losers_count_in_the_latency_with_what_they_took() {
    let latency = Latency::with_least(Duration::from_secs(60), 2);
    let outcome: Outcome = within(1_000, async {
        hedge(50)
            .percentile(99, &latency)
            .run(|attempt| async move {
                if attempt.is_first() {
                    pending::<()>().await;
                }
                sleep(ms(10)).await;
                Ok(2)
            })
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    let near = |percent, millis| {
        let seen = latency.percentile(percent).unwrap();
        assert!(
            seen >= ms(millis) && seen <= ms(millis) * 33 / 32,
            "{seen:?}"
        );
    };
    near(50, 10);
    near(100, 60);
}

#[tokio::test(start_paused = true)]
async fn dropped_in_the_middle_all_are_counted() {
    let counts = AttemptCounts::default();
    let hedged = hedge(10)
        .attempts(3)
        .max_in_flight(3)
        .run(|_| pending::<Outcome>())
        .counts(&counts);
    let dropped = tokio::time::timeout(ms(25), within(1_000, hedged)).await;
    assert!(dropped.is_err());
    assert_eq!(balanced(&counts), [0, 0, 0, 0, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_scope_begins_no_other() {
    let request = Context::root("request", Budget::new(ms(1_000)));
    let leaves = request.clone();
    tokio::spawn(async move {
        sleep(ms(30)).await;
        leaves.cancel(Cause::ClientCancelled)
    });
    let counts = AttemptCounts::default();
    let hedged = hedge(20)
        .attempts(9)
        .run(|_| pending::<Outcome>())
        .counts(&counts);
    let stopped = match request.run(hedged).await {
        Ok(error) => error.unwrap_err().stopped(),
        Err(stopped) => stopped,
    };
    assert_eq!(stopped.cause(), Cause::ClientCancelled);
    assert_eq!(balanced(&counts), [0, 0, 0, 0, 2]);
}

#[tokio::test(start_paused = true)]
async fn attempts_that_fail_at_once_do_not_hold_the_thread() {
    let request = Context::root("request", Budget::new(ms(1_000)));
    let leaves = request.clone();
    let client = tokio::spawn(async move {
        tokio::task::yield_now().await;
        leaves.cancel(Cause::ClientCancelled)
    });
    let hedged = hedge(10)
        .attempts(u32::MAX)
        .run(|_| async { Err::<u32, _>(AppError::Real(1)) });
    let stopped = match request.run(hedged).await {
        Ok(Err(AppError::Stopped(stopped))) => Some(stopped),
        Ok(_) => None,
        Err(stopped) => Some(stopped),
    };
    assert!(client.await.unwrap());
    assert_eq!(
        stopped.map(|stopped| stopped.cause()),
        None,
        "the real error is what comes back"
    );
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_enforced_it_hedges_all_the_same() {
    for mode in [Mode::Off, Mode::Observe, Mode::Propagate] {
        let request = Context::builder("request")
            .budget(Budget::new(ms(10)))
            .mode(mode)
            .build();
        let counts = AttemptCounts::default();
        let outcome: Outcome = request
            .run(async {
                hedge(50)
                    .min_attempt(ms(500))
                    .run(|attempt| async move {
                        match attempt.number {
                            1 => pending().await,
                            _ => sleep(ms(30)).await,
                        }
                        Ok(attempt.number)
                    })
                    .counts(&counts)
                    .await
            })
            .await
            .unwrap();
        assert_eq!(outcome.unwrap(), 2, "{mode}");
        assert_eq!(balanced(&counts), [1, 0, 0, 0, 1]);
    }
}

#[deadline(budget = "300ms")]
async fn annotated(replica: u32) -> Result<u32, Stopped> {
    if replica == 1 {
        pending::<()>().await;
    }
    Ok(replica)
}

#[deadline(budget = "300ms")]
async fn hedged() -> Result<u32, Stopped> {
    hedge(50).run(|attempt| annotated(attempt.number)).await
}

#[tokio::test(start_paused = true)]
async fn the_figure_is_that_of_the_longest_branch() {
    fn declares<F: Budgeted<Budget = B>, B>(_: &F) {}
    declares::<_, Millis<300>>(&hedge(50).run(|attempt| annotated(attempt.number)));
    let begun = Instant::now();
    assert_eq!(hedged().await.unwrap(), 2);
    assert_eq!(begun.elapsed(), ms(50));
}

#[tokio::test]
async fn losers_are_gone_on_a_real_clock_too() {
    let begun = std::time::Instant::now();
    let counts = AttemptCounts::default();
    let outcome: Outcome = within(10_000, async {
        hedge(5)
            .run(|attempt| async move {
                if attempt.is_first() {
                    pending::<()>().await;
                }
                sleep(ms(5)).await;
                Ok(attempt.number)
            })
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(balanced(&counts), [1, 0, 0, 0, 1]);
}

#[derive(Debug, Clone)]
struct Case {
    budget: u64,
    delay: u64,
    attempts: u32,
    in_flight: usize,
    cap: Option<u64>,
    least: u64,
    reserve: u64,
    /// What each attempt does: how long it takes, and whether it succeeds.
    outcomes: Vec<(u64, bool)>,
}

fn case() -> impl Strategy<Value = Case> {
    (
        1_u64..400,
        0_u64..120,
        1_u32..8,
        1_usize..5,
        proptest::option::of(1_u64..150),
        0_u64..60,
        0_u64..60,
        proptest::collection::vec((0_u64..200, proptest::bool::weighted(0.3)), 8),
    )
        .prop_map(
            |(budget, delay, attempts, in_flight, cap, least, reserve, outcomes)| Case {
                budget,
                delay,
                attempts,
                in_flight,
                cap,
                least,
                reserve,
                outcomes,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn whatever_the_policy_the_rules_hold(case in case()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let counts = AttemptCounts::default();
            let starts = Log::default();
            let ended = Log::default();
            let listener = ended.clone();
            let mut policy = hedge(case.delay)
                .attempts(case.attempts)
                .max_in_flight(case.in_flight)
                .min_attempt(ms(case.least))
                .reserve(ms(case.reserve));
            if let Some(cap) = case.cap {
                policy = policy.attempt_cap(ms(cap));
            }
            let begun = Instant::now();
            let outcome = Context::root("request", Budget::new(ms(case.budget)))
                .run(policy
                    .run(|attempt: Attempt| {
                        starts.note((begun.elapsed(), attempt.granted.unwrap()));
                        let (takes, succeeds) = case.outcomes[attempt.number as usize % 8];
                        async move {
                            sleep(ms(takes)).await;
                            if succeeds { Ok(attempt.number) } else { Err(AppError::Real(attempt.number)) }
                        }
                    })
                    .counts(&counts)
                    .on_attempt(move |record| listener.note(*record)))
                .await;
            let (took, budget) = (begun.elapsed(), ms(case.budget));
            assert!(took <= budget);
            let starts = starts.all();
            assert_eq!(starts.len() as u64, counts.started());
            assert!(starts.len() <= case.attempts as usize);
            for (at, granted) in &starts {
                let needed = ms(case.least.max(1) + case.reserve);
                assert!(*at + needed <= budget);
                assert!(*granted <= budget - *at - ms(case.reserve));
                assert!(case.cap.is_none_or(|cap| *granted <= ms(cap)));
            }
            let [succeeded, ..] = balanced(&counts);
            let won = matches!(outcome, Ok(Ok(_)));
            assert_eq!(succeeded, u64::from(won));
            let records = ended.all();
            assert_eq!(records.len() as u64, counts.started());
            // Never more at a time than allowed.
            for one in &records {
                let beside = records.iter().filter(|other| {
                    other.started <= one.started && other.started + other.elapsed > one.started
                });
                assert!(beside.count() <= case.in_flight);
            }
        });
    }
}
