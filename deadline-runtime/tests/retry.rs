//! Trying again: what fits, what is handed on, what comes back, how it is counted.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::error::Error;
use std::fmt;
use std::future::{Future, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::ms;
use deadline_runtime::Sent;
use deadline_runtime::retry::{Advice, Backoff, Pushback, Retry, RetryBudget, Retryable};
use deadline_runtime::{
    AttemptCounts, AttemptOutcome, Attempts, Budget, Budgeted, Cause, Context, Millis, Mode, Phase,
    Stopped, Unbudgeted, deadline, timeout,
};
use proptest::prelude::*;
use tokio::time::{Instant, sleep};

/// An error enum as users write them.
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

/// The number of the real error behind a stop.
fn behind(stopped: &Stopped) -> Option<u32> {
    match stopped.source()?.downcast_ref::<AppError>()? {
        AppError::Real(number) => Some(*number),
        AppError::Stopped(_) => None,
    }
}

/// Notes things in order.
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

/// Runs under a request with this budget.
async fn within<F: Future>(budget: u64, future: F) -> F::Output {
    let request = Context::root("request", Budget::new(ms(budget)));
    request.run(future).await.unwrap()
}

/// The reserve is where the body lives on when its children are stopped.
async fn within_reserving<F: Future>(budget: u64, reserve: u64, future: F) -> F::Output {
    let budget = Budget::new(ms(budget + reserve)).reserve(ms(reserve));
    Context::root("request", budget).run(future).await.unwrap()
}

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

const STEADY: Retry = Retry::idempotent("fetch")
    .attempts(u32::MAX)
    .backoff(Backoff::none());

#[tokio::test(start_paused = true)]
async fn each_attempt_is_given_what_is_left_at_its_start() {
    for (wait, expected) in [(0, [100, 100, 50]), (10, [100, 100, 30])] {
        let seen = Log::default();
        let granted = Log::default();
        let counts = AttemptCounts::default();
        let retry = STEADY
            .attempts(3)
            .attempt_cap(ms(100))
            .backoff(Backoff::fixed(ms(wait)));
        let outcome: Result<(), AppError> = within_reserving(250, 50, async {
            retry
                .run(|attempt| {
                    granted.note(attempt.granted.unwrap());
                    let seen = seen.clone();
                    async move {
                        // What a client would send on.
                        seen.note(Context::current().remaining().unwrap());
                        pending().await
                    }
                })
                .counts(&counts)
                .await
        })
        .await;
        assert_eq!(seen.all(), expected.map(ms), "waiting {wait}");
        assert_eq!(granted.all(), expected.map(ms));
        let stopped = outcome.unwrap_err().stopped();
        assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
        assert_eq!(stopped.limited_by().operation(), "request");
        assert_eq!(balanced(&counts), [0, 0, 3, 0, 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dependency_that_fails_fast_is_not_tried_past_the_budget() {
    let counts = AttemptCounts::default();
    let started = Instant::now();
    let last = Log::default();
    let outcome: Result<(), AppError> = within(5_000, async {
        STEADY
            .backoff(Backoff::fixed(ms(1)))
            .run(|attempt| {
                last.note(started.elapsed());
                async move { Err(AppError::Real(attempt.number)) }
            })
            .counts(&counts)
            .await
    })
    .await;
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
    assert!(started.elapsed() <= ms(5_000));
    assert!(counts.started() <= 5_000);
    assert!(last.all().iter().all(|at| *at < ms(5_000)));
    assert_eq!(u64::from(behind(&stopped).unwrap()), counts.started());
    assert_eq!(counts.not_started(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_own_deadline_is_never_tried_again() {
    let counts = AttemptCounts::default();
    let outcome: Result<(), AppError> = within_reserving(100, 20, async {
        STEADY
            .run(|_| async { pending().await })
            .when(|_| true)
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(
        outcome.unwrap_err().stopped().cause(),
        Cause::DeadlineExceeded
    );
    assert_eq!(balanced(&counts), [0, 0, 1, 0, 0]);
}

/// A function whose error type hides the stop two levels down.
#[derive(Debug)]
struct Hidden(Box<dyn Error + Send + Sync>);
impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}
impl Error for Hidden {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
impl From<Stopped> for Hidden {
    fn from(stopped: Stopped) -> Self {
        Self(Box::new(AppError::Stopped(stopped)))
    }
}

#[tokio::test(start_paused = true)]
async fn the_own_deadline_is_recognised_by_identity_and_not_by_its_word() {
    // The function around has a budget of its own: its stop is called a dependency's timeout.
    let counts = AttemptCounts::default();
    let passed_on = counts.clone();
    let outcome: Result<Result<(), Hidden>, Stopped> = scoped!(Millis<120>, "load".reserve(20), {
        let retried = STEADY
            .run(|_| async {
                sleep(ms(200)).await;
                Ok::<_, Hidden>(())
            })
            .when(|_| true)
            .counts(&passed_on)
            .await;
        Ok(retried)
    })
    .await;
    let error = outcome.unwrap().unwrap_err();
    assert_eq!(
        Stopped::find(&error).unwrap().limited_by().operation(),
        "load"
    );
    assert_eq!(counts.started(), 1);

    // And a callee calls the cap of an attempt the deadline, since it is its parent's: there is time left.
    let counts = AttemptCounts::default();
    let outcome: Result<u32, Hidden> = within(1_000, async {
        STEADY
            .attempt_cap(ms(100))
            .run(|attempt| async move {
                if attempt.number < 3 {
                    let inner: Result<(), Stopped> =
                        scoped!(Unbudgeted, "inner", { await_!(pending()) }).await;
                    let stopped = inner.unwrap_err();
                    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
                    assert_eq!(stopped.limited_by().operation(), "fetch");
                    return Err(Hidden::from(stopped));
                }
                Ok(attempt.number)
            })
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 3);
    assert_eq!(balanced(&counts), [1, 0, 2, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_attempts_own_timeout_is_tried_again_if_there_is_time() {
    let tries = |retry: Retry| async move {
        let counts = AttemptCounts::default();
        let outcome: Result<u32, AppError> = within(1_000, async {
            retry
                .run(|attempt| async move {
                    if attempt.is_first() {
                        pending::<()>().await;
                    }
                    Ok(attempt.number)
                })
                .counts(&counts)
                .await
        })
        .await;
        (outcome.map_err(AppError::stopped), counts)
    };
    let (outcome, counts) = tries(STEADY.attempt_cap(ms(100))).await;
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(balanced(&counts), [1, 0, 1, 0, 0]);
    let (outcome, counts) = tries(STEADY.attempt_cap(ms(100)).give_up_on_timeout()).await;
    let stopped = outcome.unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    assert_eq!(stopped.limited_by().operation(), "fetch");
    assert_eq!(balanced(&counts), [0, 0, 1, 0, 0]);
}

/// Attempts of 300 ms that fail, waits of 200 ms, a useful attempt needs 150 ms.
async fn too_tight(budget: u64, starts: &Log<Duration>) -> (AppError, Duration) {
    let begun = Instant::now();
    let outcome: Result<(), AppError> = within(budget, async {
        STEADY
            .min_attempt(ms(150))
            .backoff(Backoff::fixed(ms(200)))
            .run(|attempt| {
                starts.note(begun.elapsed());
                async move {
                    sleep(ms(300)).await;
                    Err(AppError::Real(attempt.number))
                }
            })
            .await
    })
    .await;
    (outcome.unwrap_err(), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_would_not_fit_is_not_begun() {
    let starts = Log::default();
    let (error, after) = too_tight(1_000, &starts).await;
    assert_eq!(starts.all(), [ms(0), ms(500)]);
    assert_eq!(after, ms(800));
    let stopped = error.stopped();
    assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
    assert_eq!(stopped.phase(), Phase::Start);
    assert_eq!(stopped.needed(), Some((ms(350), ms(200))));
    assert_eq!(stopped.operation(), "fetch");
    assert_eq!(stopped.limited_by().operation(), "request");
    assert_eq!(behind(&stopped), Some(2));
    assert_eq!(stopped.elapsed(), ms(800));
    let text = stopped.to_string();
    assert!(
        text.starts_with(
            "fetch refused after 2 attempts: local_budget_rejected: \
             next attempt would not fit: needs 350ms, has 200ms, limited by request ("
        ),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_just_fits_is_begun() {
    for (budget, expected) in [(1_149, 2), (1_150, 3)] {
        let starts = Log::default();
        let (error, _) = too_tight(budget, &starts).await;
        assert_eq!(starts.all().len(), expected, "{budget}");
        if expected == 2 {
            assert_eq!(error.stopped().needed(), Some((ms(350), ms(349))));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_is_held_to_the_rules_as_well() {
    for (budget, runs) in [(149, false), (150, true)] {
        let mut entered = false;
        let outcome: Result<(), AppError> = within(budget, async {
            STEADY
                .min_attempt(ms(100))
                .reserve(ms(50))
                .run(|_| {
                    entered = true;
                    async { Ok(()) }
                })
                .await
        })
        .await;
        assert_eq!(entered, runs);
        if !runs {
            let stopped = outcome.unwrap_err().stopped();
            assert_eq!(stopped.needed(), Some((ms(150), ms(149))));
            assert!(stopped.source().is_none());
            let text = stopped.to_string();
            assert!(
                text.contains(
                    "fetch refused: local_budget_rejected: first attempt would not fit: needs 150ms, has 149ms"
                ),
                "{text}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reserve_is_kept_from_the_attempts() {
    let seen = Log::default();
    let begun = Instant::now();
    let outcome: Result<(), AppError> = within(200, async {
        STEADY
            .reserve(ms(60))
            .run(|attempt| {
                let seen = seen.clone();
                async move {
                    seen.note(Context::current().remaining().unwrap());
                    if attempt.is_first() {
                        sleep(ms(40)).await;
                        return Err(AppError::Real(1));
                    }
                    pending().await
                }
            })
            .await
    })
    .await;
    assert_eq!(seen.all(), [ms(140), ms(100)]);
    assert_eq!(begun.elapsed(), ms(140));
    let stopped = outcome.unwrap_err().stopped();
    // The reserve is left, and no attempt may use it.
    assert_eq!(stopped.needed(), Some((ms(61), ms(60))));
    assert_eq!(behind(&stopped), Some(1), "not the timeout of attempt 2");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_does_not_hide_the_real_error_before_it() {
    let outcome: Result<(), AppError> = within_reserving(100, 20, async {
        STEADY
            .run(|attempt| async move {
                if attempt.is_first() {
                    return Err(AppError::Real(1));
                }
                pending().await
            })
            .await
    })
    .await;
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(behind(&stopped), Some(1));

    // The same where the attempt itself turns the stop into its error.
    let outcome: Result<(), AppError> = within_reserving(100, 20, async {
        STEADY
            .run(|attempt| async move {
                if attempt.is_first() {
                    return Err(AppError::Real(1));
                }
                timeout(ms(500), pending::<()>()).await?;
                Ok(())
            })
            .await
    })
    .await;
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(behind(&stopped), Some(1));
}

#[tokio::test(start_paused = true)]
async fn nothing_fails_over_after_a_shared_deadline() {
    let replicas = Log::default();
    let outcome: Result<(), AppError> = within_reserving(100, 30, async {
        STEADY
            .attempts(2)
            .run(|attempt| {
                replicas.note(attempt.number);
                async move {
                    timeout(ms(400), pending::<()>())
                        .await
                        .map_err(AppError::from)
                }
            })
            .when(|_| true)
            .await
    })
    .await;
    assert_eq!(
        outcome.unwrap_err().stopped().cause(),
        Cause::DeadlineExceeded
    );
    assert_eq!(replicas.all(), [1], "the second replica was asked");

    // A fault with time left is another matter.
    let replicas = Log::default();
    let outcome: Result<u32, AppError> = within(100, async {
        STEADY
            .attempts(2)
            .min_attempt(ms(50))
            .run(|attempt| {
                replicas.note(attempt.number);
                async move {
                    if attempt.is_first() {
                        sleep(ms(50)).await;
                        return Err(AppError::Real(1));
                    }
                    Ok(attempt.number)
                }
            })
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(replicas.all(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn the_cause_decides_whether_a_stop_is_worth_another_attempt() {
    for &cause in Cause::ALL {
        let counts = AttemptCounts::default();
        let _: Result<(), AppError> = within(1_000, async {
            STEADY
                .attempts(2)
                .run(|_| async move {
                    // Stopped for this reason, and nothing around it is.
                    let other = Context::root("other", Budget::inherited());
                    other.cancel(cause);
                    Err(other.check().unwrap_err().into())
                })
                .counts(&counts)
                .await
        })
        .await;
        let worth = matches!(
            cause,
            Cause::DeadlineExceeded
                | Cause::DependencyTimeout
                | Cause::DependencyFailed
                | Cause::Overload
        );
        assert_eq!(counts.started(), 1 + u64::from(worth), "{cause}");
        balanced(&counts);
    }
}

#[tokio::test(start_paused = true)]
async fn three_ways_to_end_a_call_are_three_causes_and_one_is_tried_again() {
    // The client leaves.
    let counts = AttemptCounts::default();
    let request = Context::root("request", Budget::new(ms(1_000)));
    let outcome = request
        .run(async {
            let leaves = request.clone();
            let calls = STEADY
                .attempts(2)
                .run(|_| async { pending::<Result<(), AppError>>().await })
                .when(|_| true)
                .counts(&counts);
            let client = async {
                sleep(ms(30)).await;
                leaves.cancel(Cause::ClientCancelled);
            };
            tokio::join!(calls, client).0
        })
        .await;
    let cause = match outcome {
        Ok(error) => error.unwrap_err().stopped().cause(),
        Err(stopped) => stopped.cause(),
    };
    assert_eq!(cause, Cause::ClientCancelled);
    assert_eq!(balanced(&counts), [0, 0, 0, 0, 1]);

    // The deadline, and a slow dependency.
    for (cap, cause, tries) in [
        (1_000, Cause::DeadlineExceeded, 1),
        (40, Cause::DependencyTimeout, 2),
    ] {
        let counts = AttemptCounts::default();
        let outcome: Result<(), AppError> = within_reserving(100, 20, async {
            STEADY
                .attempts(2)
                .attempt_cap(ms(cap))
                .run(|_| async { pending().await })
                .counts(&counts)
                .await
        })
        .await;
        assert_eq!(outcome.unwrap_err().stopped().cause(), cause);
        assert_eq!(balanced(&counts), [0, 0, tries, 0, 0]);
    }
}

/// What a client knows of a request that failed.
fn stopped_in(phase: Phase) -> AppError {
    let other = Context::root("other", Budget::inherited());
    other.cancel(Cause::DependencyFailed);
    AppError::from(other.check().unwrap_err().in_phase(phase))
}

fn sent(error: &AppError) -> Advice {
    match error {
        AppError::Stopped(stopped) => Advice::retry().sent(Sent::of(stopped)),
        AppError::Real(_) => Advice::retry(),
    }
}

#[tokio::test(start_paused = true)]
async fn what_must_not_happen_twice_is_repeated_only_if_it_was_not_sent() {
    for (phase, tries) in [
        (Phase::Connect, 3),
        (Phase::Pool, 3),
        (Phase::Queue, 3),
        (Phase::Start, 3),
        (Phase::Request, 1),
        (Phase::Response, 1),
        (Phase::Body, 1),
        (Phase::Wait, 1),
    ] {
        for (retry, expected) in [
            (Retry::non_idempotent("charge"), tries),
            (Retry::idempotent("charge"), 3),
        ] {
            let counts = AttemptCounts::default();
            let outcome: Result<(), AppError> = within(1_000, async {
                retry
                    .backoff(Backoff::fixed(ms(1)))
                    .run(|_| async move { Err(stopped_in(phase)) })
                    .advise(sent)
                    .counts(&counts)
                    .await
            })
            .await;
            assert_eq!(outcome.unwrap_err().stopped().phase(), phase);
            assert_eq!(counts.started(), expected, "{phase}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_charge_that_timed_out_is_not_made_again() {
    let effects = Log::default();
    let outcome: Result<(), AppError> = within(1_000, async {
        Retry::non_idempotent("charge")
            .attempt_cap(ms(100))
            .run(|_| {
                let effects = effects.clone();
                async move {
                    effects.note(());
                    pending().await
                }
            })
            .when(|_| true)
            .await
    })
    .await;
    assert_eq!(
        outcome.unwrap_err().stopped().cause(),
        Cause::DependencyTimeout
    );
    assert_eq!(effects.all().len(), 1);

    // Nor one that failed in a way that says nothing.
    let outcome: Result<(), AppError> = within(1_000, async {
        Retry::non_idempotent("charge")
            .run(|_| {
                effects.note(());
                async { Err(AppError::Real(7)) }
            })
            .when(|_| true)
            .await
    })
    .await;
    assert_eq!(outcome.unwrap_err().real(), 7);
    assert_eq!(effects.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_servers_word_replaces_the_wait() {
    let begun = Instant::now();
    let outcome: Result<u32, AppError> = within(1_000, async {
        STEADY
            .backoff(Backoff::fixed(ms(5)))
            .run(|attempt| async move {
                match attempt.number {
                    1 => Err(AppError::Real(1)),
                    number => Ok(number),
                }
            })
            .retry_after(|_| Some(ms(300)))
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(begun.elapsed(), ms(300));
}

#[tokio::test(start_paused = true)]
async fn a_servers_word_that_does_not_fit_ends_it_at_once() {
    let begun = Instant::now();
    let outcome: Result<(), AppError> = within(1_000, async {
        STEADY
            .min_attempt(ms(10))
            .run(|_| async { Err(AppError::Real(1)) })
            .retry_after(|_| Some(Duration::from_secs(30)))
            .await
    })
    .await;
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.needed(), Some((ms(30_010), ms(1_000))));
    assert_eq!(behind(&stopped), Some(1));
    assert_eq!(begun.elapsed(), Duration::ZERO);

    // Equality runs.
    for (after, tries) in [(990, 2), (991, 1)] {
        let counts = AttemptCounts::default();
        let _: Result<(), AppError> = within(1_000, async {
            STEADY
                .attempts(2)
                .min_attempt(ms(10))
                .run(|_| async { Err(AppError::Real(1)) })
                .retry_after(|_| Some(ms(after)))
                .counts(&counts)
                .await
        })
        .await;
        assert_eq!(counts.started(), tries);
    }
}

#[tokio::test(start_paused = true)]
async fn a_negative_word_is_a_no() {
    assert_eq!(Pushback::from_millis(-1), Pushback::Never);
    assert_eq!(Pushback::from_millis(i64::MIN), Pushback::Never);
    assert_eq!(Pushback::from_millis(20), Pushback::After(ms(20)));
    let counts = AttemptCounts::default();
    let outcome: Result<(), AppError> = within(1_000, async {
        STEADY
            .run(|_| async { Err(AppError::Real(1)) })
            .advise(|_| Advice::retry().pushback(Pushback::from_millis(-1)))
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(outcome.unwrap_err().real(), 1);
    assert_eq!(counts.started(), 1);
}

#[tokio::test(start_paused = true)]
async fn errors_can_speak_for_themselves() {
    #[derive(Debug)]
    struct Status(u16);
    impl fmt::Display for Status {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "status {}", self.0)
        }
    }
    impl Error for Status {}
    impl From<Stopped> for Status {
        fn from(_: Stopped) -> Self {
            Self(504)
        }
    }
    impl Retryable for Status {
        fn advice(&self) -> Advice {
            match self.0 {
                503 => Advice::retry().after(ms(70)),
                _ => Advice::give_up(),
            }
        }
    }
    let begun = Instant::now();
    let outcome: Result<(), Status> = within(1_000, async {
        STEADY
            .run(|attempt| async move { Err(Status(if attempt.is_first() { 503 } else { 404 })) })
            .classified()
            .await
    })
    .await;
    assert_eq!(outcome.unwrap_err().0, 404);
    assert_eq!(begun.elapsed(), ms(70));
}

#[tokio::test(start_paused = true)]
async fn the_errors_of_real_programs_work_as_they_are() {
    // What an attempt returns, `?` hands on.
    async fn boxed() -> Result<(), Box<dyn Error + Send + Sync>> {
        STEADY
            .attempts(2)
            .run(|_| async { Err("plain".into()) })
            .await
    }
    assert_eq!(within(100, boxed()).await.unwrap_err().to_string(), "plain");

    async fn io() -> Result<(), std::io::Error> {
        STEADY
            .attempt_cap(ms(10))
            .backoff(Backoff::fixed(ms(50)))
            .run(|_| async { pending::<Result<(), std::io::Error>>().await })
            .await?;
        Ok(())
    }
    let error = within(30, io()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    let stopped = Stopped::find(&error).unwrap();
    assert_eq!(stopped.needed(), Some((ms(51), ms(20))));

    #[deadline(budget = "1s")]
    async fn ours() -> Result<(), Stopped> {
        STEADY
            .attempts(2)
            .attempt_cap(ms(10))
            .run(|_| async { pending().await })
            .await
    }
    assert_eq!(ours().await.unwrap_err().cause(), Cause::DependencyTimeout);
}

#[tokio::test(start_paused = true)]
async fn anyhow_works_as_it_is() {
    use anyhow::Context as _;

    #[deadline(budget = "900ms")]
    async fn fetch() -> anyhow::Result<u32> {
        let counts = AttemptCounts::default();
        let refused = STEADY
            .min_attempt(ms(400))
            .run(|attempt| async move {
                sleep(ms(300)).await;
                Err::<u32, _>(anyhow::anyhow!("error of attempt {}", attempt.number))
            })
            .when(|error| error.to_string().starts_with("error"))
            .counts(&counts)
            .await
            .context("fetching the profile");
        assert_eq!(balanced(&counts), [0, 2, 0, 0, 0]);
        refused
    }
    let error = fetch().await.unwrap_err();
    let stopped = Stopped::find(error.as_ref()).unwrap();
    assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
    assert_eq!(stopped.source().unwrap().to_string(), "error of attempt 2");

    // A stop behind two layers of context is found all the same, and is not worth another attempt.
    let counts = AttemptCounts::default();
    let outcome: anyhow::Result<()> = within(1_000, async {
        STEADY
            .run(|_| async {
                let other = Context::root("other", Budget::inherited());
                other.cancel(Cause::Shutdown);
                other.check().context("inner").context("outer")?;
                Ok(())
            })
            .counts(&counts)
            .await
    })
    .await;
    assert_eq!(outcome.unwrap_err().to_string(), "outer");
    assert_eq!(balanced(&counts), [0, 0, 0, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn only_a_retry_takes_from_the_budget() {
    let budget = RetryBudget::default();
    for _ in 0..1_000 {
        within(
            1_000,
            STEADY
                .run(|_| async { Ok::<_, AppError>(()) })
                .budget(&budget),
        )
        .await
        .unwrap();
    }
    assert_eq!(budget.available(), 10);
    // An error that is not worth another attempt costs nothing either.
    for _ in 0..1_000 {
        let failed = STEADY
            .run(|_| async { Err::<(), _>(AppError::Real(1)) })
            .when(|_| false)
            .budget(&budget);
        within(1_000, failed).await.unwrap_err();
    }
    assert_eq!(budget.available(), 10);
    // Nor does one that would not fit.
    let failed = STEADY
        .backoff(Backoff::fixed(ms(5_000)))
        .run(|_| async { Err::<(), _>(AppError::Real(1)) })
        .budget(&budget);
    within(1_000, failed).await.unwrap_err();
    assert_eq!(budget.available(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_met_with_a_burst_of_five_and_then_a_tenth_of_the_successes() {
    let budget = RetryBudget::default();
    let counts = AttemptCounts::default();
    let call = |fails: bool| {
        let (budget, counts) = (budget.clone(), counts.clone());
        async move {
            let attempt = move |attempt: deadline_runtime::Attempt| async move {
                if fails {
                    Err(AppError::Real(attempt.number))
                } else {
                    Ok(())
                }
            };
            let retried = STEADY
                .attempts(2)
                .run(attempt)
                .budget(&budget)
                .counts(&counts);
            within(1_000, retried).await
        }
    };
    for _ in 0..100 {
        // The real error comes back, not one about tokens.
        call(true).await.unwrap_err().real();
    }
    assert_eq!(counts.started(), 100 + 5);
    assert_eq!(counts.not_started(), 95);
    assert!(!budget.allows());
    for _ in 0..10 {
        call(false).await.unwrap();
    }
    assert!(budget.allows());
    call(true).await.unwrap_err();
    call(true).await.unwrap_err();
    assert_eq!(counts.started(), 105 + 10 + 2 + 1);
    balanced(&counts);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_counted_once_also_if_it_is_dropped() {
    let counts = AttemptCounts::default();
    let records = Log::default();
    let listener = records.clone();
    let retried = STEADY
        .run(|attempt| async move {
            sleep(ms(10)).await;
            if attempt.number == 3 {
                pending::<()>().await;
            }
            Err::<(), _>(AppError::Real(attempt.number))
        })
        .counts(&counts)
        .on_attempt(move |record| listener.note(*record));
    let dropped = tokio::time::timeout(ms(50), within(1_000, retried)).await;
    assert!(dropped.is_err());
    assert_eq!(balanced(&counts), [0, 2, 0, 0, 1]);
    let all: Vec<_> = records
        .all()
        .iter()
        .map(|record| {
            (
                record.number,
                record.started,
                record.elapsed,
                record.outcome,
            )
        })
        .collect();
    assert_eq!(
        all,
        [
            (1, ms(0), ms(10), AttemptOutcome::Failed),
            (2, ms(10), ms(10), AttemptOutcome::Failed),
            (
                3,
                ms(20),
                ms(30),
                AttemptOutcome::Cancelled(Cause::Abandoned)
            ),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn dropped_while_it_waits_nothing_is_in_flight() {
    let counts = AttemptCounts::default();
    let retried = STEADY
        .backoff(Backoff::fixed(ms(100)))
        .run(|_| async { Err::<(), _>(AppError::Real(1)) })
        .counts(&counts);
    assert!(tokio::time::timeout(ms(50), retried).await.is_err());
    assert_eq!(balanced(&counts), [0, 1, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn attempts_that_fail_at_once_do_not_hold_the_thread() {
    // Without a wait, and without the paused clock moving: only giving the thread away lets the other task end it.
    let request = Context::root("request", Budget::new(ms(1_000)));
    let leaves = request.clone();
    let client = tokio::spawn(async move {
        tokio::task::yield_now().await;
        leaves.cancel(Cause::ClientCancelled)
    });
    let retried = STEADY.run(|_| async { Err::<(), _>(AppError::Real(1)) });
    let outcome = request.run(retried).await;
    assert!(client.await.unwrap());
    let stopped = match outcome {
        Ok(error) => error.unwrap_err().stopped(),
        Err(stopped) => stopped,
    };
    assert_eq!(stopped.cause(), Cause::ClientCancelled);
}

#[tokio::test(start_paused = true)]
async fn without_a_deadline_the_attempts_are_numbered() {
    let counts = AttemptCounts::default();
    let outcome: Result<(), AppError> = Retry::idempotent("fetch")
        .run(|attempt| async move { Err(AppError::Real(attempt.number)) })
        .counts(&counts)
        .await;
    assert_eq!(outcome.unwrap_err().real(), 3);
    let zero: Result<(), AppError> = STEADY
        .attempts(0)
        .run(|attempt| async move { Err(AppError::Real(attempt.number)) })
        .await;
    assert_eq!(zero.unwrap_err().real(), 1);
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_enforced_only_the_programs_own_cap_holds() {
    for mode in [Mode::Off, Mode::Observe, Mode::Propagate] {
        let request = Context::builder("request")
            .budget(Budget::new(ms(100)))
            .mode(mode)
            .build();
        let begun = Instant::now();
        let outcome: Result<u32, AppError> = request
            .run(async {
                STEADY
                    .min_attempt(ms(500))
                    .attempt_cap(ms(80))
                    .run(|attempt| async move {
                        if attempt.number < 4 {
                            pending::<()>().await;
                        }
                        Ok(attempt.number)
                    })
                    .await
            })
            .await
            .unwrap();
        assert_eq!(outcome.unwrap(), 4, "{mode}");
        assert_eq!(begun.elapsed(), ms(240), "{mode}");

        // And without a cap nothing does.
        let request = Context::builder("request")
            .budget(Budget::new(ms(100)))
            .mode(mode)
            .build();
        let outcome: Result<(), AppError> = request
            .run(STEADY.reserve(ms(50)).run(|_| async {
                sleep(ms(500)).await;
                Ok(())
            }))
            .await
            .unwrap();
        assert!(outcome.is_ok(), "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_tried_again_is_not_the_stop_of_the_request() {
    let request = Context::builder("request")
        .budget(Budget::new(ms(1_000)))
        .report(true)
        .build();
    let outcome: Result<u32, AppError> = request
        .run(async {
            STEADY
                .attempt_cap(ms(100))
                .run(|attempt| async move {
                    if attempt.is_first() {
                        let stopped: Result<(), Stopped> =
                            scoped!(Unbudgeted, "inner", { await_!(pending()) }).await;
                        stopped?;
                    }
                    Ok(attempt.number)
                })
                .await
        })
        .await
        .unwrap();
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(request.cause(), None);
    let names: Vec<_> = request
        .report()
        .unwrap()
        .scopes
        .iter()
        .map(|scope| (scope.operation, scope.outcome.to_string()))
        .collect();
    assert_eq!(
        names.iter().filter(|(name, _)| *name == "fetch").count(),
        2,
        "{names:?}"
    );
}

// In the type.

const FETCH: Retry<Attempts<2, 300, 5>> = Retry::idempotent("fetch").checked();

fn declares<F: Budgeted<Budget = B>, B>(_: &F) {}

#[deadline(budget = "605ms")]
async fn checked() -> Result<u32, Stopped> {
    FETCH
        .run(|attempt| async move {
            sleep(ms(299)).await;
            if attempt.is_first() {
                pending().await
            } else {
                Ok(attempt.number)
            }
        })
        .await
}

#[tokio::test(start_paused = true)]
async fn the_figures_of_the_type_are_those_that_hold() {
    let call = FETCH.run(|_| async { Ok::<_, Stopped>(()) });
    declares::<_, Attempts<2, 300, 5>>(&call);
    declares::<_, Unbudgeted>(&STEADY.run(|_| async { Ok::<_, Stopped>(()) }));
    let adjusted = call.when(|_| true).budget(&RetryBudget::default());
    declares::<_, Attempts<2, 300, 5>>(&adjusted);
    assert_eq!(checked().await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn waits_are_shortened_to_what_the_type_allows() {
    const DOUBLING: Backoff =
        Backoff::exponential(Duration::from_millis(10), Duration::from_secs(1)).without_jitter();
    const PATIENT: Retry<Attempts<4, 10, 25>> =
        Retry::idempotent("fetch").backoff(DOUBLING).checked();
    let starts = Log::default();
    let begun = Instant::now();
    let outcome: Result<(), AppError> = PATIENT
        .run(|attempt| {
            starts.note(begun.elapsed());
            async move { Err(AppError::Real(attempt.number)) }
        })
        .await;
    assert_eq!(outcome.unwrap_err().real(), 4);
    assert_eq!(starts.all(), [0, 10, 25, 25].map(ms));

    // What the other side asks for cannot be shortened.
    let outcome: Result<(), AppError> = PATIENT
        .run(|attempt| async move { Err(AppError::Real(attempt.number)) })
        .retry_after(|_| Some(ms(26)))
        .await;
    let stopped = outcome.unwrap_err().stopped();
    assert_eq!(stopped.needed(), Some((ms(26), ms(25))));
    assert_eq!(stopped.limited_by().operation(), "fetch", "its own limit");
    assert_eq!(behind(&stopped), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_travels_and_is_bound_by_where_it_is_polled() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let counts = AttemptCounts::default();
    let retried = is_send(
        STEADY
            .run(|_| async { pending::<Result<(), AppError>>().await })
            .counts(&counts),
    );
    let request = Context::root("request", Budget::new(ms(100)));
    let task = tokio::spawn(request.run(retried));
    let stopped = task.await.unwrap().unwrap().unwrap_err().stopped();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.limited_by().operation(), "request");
    assert_eq!(balanced(&counts), [0, 0, 1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_during_a_wait_keeps_the_real_error() {
    let request = Context::root("request", Budget::new(ms(1_000)));
    let leaves = request.clone();
    tokio::spawn(async move {
        sleep(ms(30)).await;
        leaves.cancel(Cause::ClientCancelled)
    });
    let begun = Instant::now();
    let retried = STEADY
        .backoff(Backoff::fixed(ms(500)))
        .run(|_| async { Err::<(), _>(AppError::Real(1)) });
    let stopped = request.run(retried).await.unwrap().unwrap_err().stopped();
    assert_eq!(begun.elapsed(), ms(30));
    assert_eq!(stopped.cause(), Cause::ClientCancelled);
    assert_eq!(behind(&stopped), Some(1));
}

/// What an attempt does.
#[derive(Debug, Clone, Copy)]
enum Does {
    Succeeds,
    Fails,
    /// Returns the stop of a limit inside it.
    TimesOut(u64),
    Hangs,
    /// Asks to be left alone for a while.
    Pushes(u64),
}

#[derive(Debug, Clone)]
struct Case {
    budget: u64,
    reserved: u64,
    attempts: u32,
    cap: Option<u64>,
    least: u64,
    reserve: u64,
    base: u64,
    most: u64,
    seed: Option<u64>,
    idempotent: bool,
    tokens: u32,
    outcomes: Vec<(u64, Does)>,
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        1 => Just(Does::Succeeds),
        4 => Just(Does::Fails),
        2 => (1_u64..80).prop_map(Does::TimesOut),
        1 => Just(Does::Hangs),
        1 => (0_u64..200).prop_map(Does::Pushes),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let policy = (
        1_u64..600,
        0_u64..40,
        1_u32..12,
        proptest::option::of(1_u64..200),
        0_u64..80,
        0_u64..80,
    );
    let waits = (0_u64..60, 0_u64..150, proptest::option::of(any::<u64>()));
    let outcomes = proptest::collection::vec((0_u64..150, does()), 12);
    (
        policy,
        waits,
        proptest::bool::weighted(0.9),
        0_u32..12,
        outcomes,
    )
        .prop_map(|(policy, waits, idempotent, tokens, outcomes)| {
            let (budget, reserved, attempts, cap, least, reserve) = policy;
            let (base, most, seed) = waits;
            Case {
                budget,
                reserved,
                attempts,
                cap,
                least,
                reserve,
                base,
                most,
                seed,
                idempotent,
                tokens,
                outcomes,
            }
        })
}

async fn attempt(takes: u64, does: Does, number: u32) -> Result<u32, AppError> {
    sleep(ms(takes)).await;
    match does {
        Does::Succeeds => Ok(number),
        Does::Fails | Does::Pushes(_) => Err(AppError::Real(number)),
        Does::Hangs => pending().await,
        Does::TimesOut(limit) => {
            timeout(ms(limit), pending::<()>()).await?;
            Ok(number)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
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
            let tokens = RetryBudget::new(case.tokens, 10);
            let backoff = Backoff::exponential(ms(case.base), ms(case.most));
            let backoff = match case.seed {
                Some(seed) => backoff.seed(seed),
                None => backoff.without_jitter(),
            };
            let policy = if case.idempotent {
                Retry::idempotent("fetch")
            } else {
                Retry::non_idempotent("fetch")
            };
            let mut policy = policy
                .attempts(case.attempts)
                .min_attempt(ms(case.least))
                .reserve(ms(case.reserve))
                .backoff(backoff);
            if let Some(cap) = case.cap {
                policy = policy.attempt_cap(ms(cap));
            }
            let budget = Budget::new(ms(case.budget + case.reserved)).reserve(ms(case.reserved));
            let begun = Instant::now();
            let outcomes = &case.outcomes;
            let outcome = Context::root("request", budget)
                .run(policy
                    .run(|this| {
                        starts.note((begun.elapsed(), this.granted.unwrap()));
                        assert_eq!(Context::current().remaining(), this.granted);
                        let (takes, does) = outcomes[(this.number as usize - 1) % 12];
                        attempt(takes, does, this.number)
                    })
                    .retry_after(|error| match error {
                        AppError::Real(number) => match outcomes[(*number as usize - 1) % 12].1 {
                            Does::Pushes(wait) => Some(ms(wait)),
                            _ => None,
                        },
                        AppError::Stopped(_) => None,
                    })
                    .budget(&tokens)
                    .counts(&counts)
                    .on_attempt(move |record| listener.note(*record)))
                .await;
            let budget = ms(case.budget);
            assert!(begun.elapsed() <= budget + ms(5), "past its end by more than the slack of a reserve");
            let starts = starts.all();
            for (at, granted) in &starts {
                // It began in time, with what it needs, and what it may take leaves the reserve alone.
                assert!(*at + ms(case.least.max(1) + case.reserve) <= budget);
                assert!(*granted <= budget - *at - ms(case.reserve));
                assert!(case.cap.is_none_or(|cap| *granted <= ms(cap)));
            }
            assert_eq!(starts.len() as u64, counts.started());
            assert!(starts.len() <= case.attempts as usize);
            if !case.idempotent {
                assert!(starts.len() <= 1);
            }
            assert!(starts.len() <= 1 + (case.tokens as usize).div_ceil(2));
            assert!(tokens.available() <= u64::from(case.tokens));
            let [succeeded, ..] = balanced(&counts);
            assert_eq!(ended.all().len() as u64, counts.started());
            match outcome.unwrap() {
                Ok(number) => assert_eq!((succeeded, u64::from(number)), (1, counts.started())),
                Err(AppError::Real(number)) => {
                    assert_eq!((succeeded, u64::from(number)), (0, counts.started()));
                }
                Err(AppError::Stopped(stopped)) => {
                    assert_eq!(succeeded, 0);
                    // No real error is lost behind a refusal of ours or the request's end; what the last attempt returned
                    // comes back as it is.
                    let failed = ended
                        .all()
                        .iter()
                        .any(|one| one.outcome == AttemptOutcome::Failed);
                    let own = stopped.cause() == Cause::LocalBudgetRejected
                        || stopped.limited_by().operation() == "request";
                    assert!(!failed || !own || behind(&stopped).is_some(), "{stopped:?}");
                }
            }
        });
    }
}

const REPEATS: Retry = Retry::idempotent("fetch").backoff(Backoff::none());

/// Only the outermost of nested retries repeats, unless the inner one says that it does as well.
#[tokio::test(start_paused = true)]
async fn of_nested_retries_one_repeats() {
    for (inner, calls) in [(REPEATS, 3), (REPEATS.under_a_retry(), 9)] {
        let made = std::cell::Cell::new(0);
        let call = async || {
            made.set(made.get() + 1);
            Err::<(), _>(anyhow::anyhow!("down"))
        };
        let outcome = REPEATS.run(|_| inner.run(|_| call())).await;
        assert_eq!(outcome.unwrap_err().to_string(), "down");
        assert_eq!(made.get(), calls);
    }
    // A policy of one attempt repeats nothing, so what is inside may.
    let made = std::cell::Cell::new(0);
    let call = async || {
        made.set(made.get() + 1);
        Err::<(), _>(anyhow::anyhow!("down"))
    };
    assert!(
        REPEATS
            .attempts(1)
            .run(|_| REPEATS.run(|_| call()))
            .await
            .is_err()
    );
    assert_eq!(made.get(), 3);
}
