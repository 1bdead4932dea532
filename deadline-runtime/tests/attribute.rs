//! What annotated functions do, through the attribute itself, on the paused clock.
#![allow(missing_docs)]

use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use deadline_runtime::{Budget, Cause, Context, Mode, Stopped, deadline, timeout};
use tokio::time::{Instant, sleep};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[derive(Debug)]
enum AppError {
    Stopped(Stopped),
    Missing,
}

impl From<Stopped> for AppError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

type Log<'a> = &'a Mutex<Vec<(&'static str, Duration)>>;

fn note(log: Log<'_>, start: Instant, what: &'static str) {
    log.lock().unwrap().push((what, start.elapsed()));
}

async fn work() -> Result<u32, AppError> {
    pending::<()>().await;
    Err(AppError::Missing)
}

#[deadline(budget = "200ms", reserve = "20ms", cleanup = "50ms")]
async fn tidies(log: Log<'_>) -> Result<u32, AppError> {
    let start = Instant::now();
    // The stop is the awaited value: what follows can tidy up.
    let outcome = work().await;
    note(log, start, "seen");
    #[shield("30ms")]
    sleep(ms(20)).await;
    note(log, start, "tidied");
    outcome
}

#[tokio::test(start_paused = true)]
async fn with_cleanup_the_body_meets_the_stop_and_tidies_up() {
    let log = Mutex::new(Vec::new());
    let start = Instant::now();
    match tidies(&log).await {
        Err(AppError::Stopped(stopped)) => assert_eq!(stopped.cause(), Cause::DeadlineExceeded),
        other => panic!("{other:?}"),
    }
    assert_eq!(start.elapsed(), ms(150));
    assert_eq!(
        log.into_inner().unwrap(),
        [("seen", ms(130)), ("tidied", ms(150))]
    );
}

#[deadline(budget = "200ms", cleanup = "50ms")]
async fn returns(log: Log<'_>) -> Result<u32, AppError> {
    let start = Instant::now();
    // No `Result`: there is no value to hand over, so the function returns here.
    pending::<()>().await;
    note(log, start, "never");
    Ok(1)
}

#[tokio::test(start_paused = true)]
async fn an_await_of_something_else_returns() {
    let log = Mutex::new(Vec::new());
    let start = Instant::now();
    assert!(returns(&log).await.is_err());
    assert_eq!(start.elapsed(), ms(150));
    assert!(log.into_inner().unwrap().is_empty());
}

#[deadline(budget = "900ms", reserve = "100ms")]
async fn runs_by_hand(left: &Mutex<Option<Duration>>) -> Result<Stopped, AppError> {
    let inside = async {
        *left.lock().unwrap() = Context::current().remaining();
        pending::<()>().await;
    };
    Ok(Context::current().run(inside).await.unwrap_err())
}

#[tokio::test(start_paused = true)]
async fn a_context_that_is_entered_again_keeps_its_reserve_once() {
    let left = Mutex::new(None);
    let start = Instant::now();
    let stopped = runs_by_hand(&left).await.unwrap();
    assert_eq!(left.into_inner().unwrap(), Some(ms(800)));
    assert_eq!(start.elapsed(), ms(800));
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.limited_by().operation(), "runs_by_hand");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_that_was_asked_for_holds_in_every_mode() {
    for mode in [Mode::Off, Mode::Observe, Mode::Propagate, Mode::Enforce] {
        let cx = Context::builder("request")
            .budget(Budget::new(ms(50)))
            .mode(mode)
            .build();
        let start = Instant::now();
        let outcome = cx
            .run(async { timeout(ms(100), pending::<()>()).await })
            .await;
        let stopped = outcome.and_then(|inner| inner.map(drop));
        let stopped = stopped.unwrap_err();
        // Only where the request's own deadline is enforced it comes first.
        let (cause, after) = if mode.enforces() {
            (Cause::DeadlineExceeded, ms(50))
        } else {
            (Cause::DependencyTimeout, ms(100))
        };
        assert_eq!((stopped.cause(), start.elapsed()), (cause, after), "{mode}");
        assert_eq!(
            stopped.limited_by().operation(),
            if mode.enforces() {
                "request"
            } else {
                "timeout"
            }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_text_says_what_was_kept_back() {
    let left = Mutex::new(None);
    let stopped = runs_by_hand(&left).await.unwrap();
    let text = stopped.to_string();
    assert!(
        text.starts_with(
            "runs_by_hand stopped: deadline_exceeded after 800ms of 800ms, limited by runs_by_hand (deadline-runtime/tests/attribute.rs:"
        ),
        "{text}"
    );
    let text = match tidies(&Mutex::new(Vec::new())).await {
        Err(AppError::Stopped(stopped)) => stopped.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(
        text.starts_with("tidies stopped: deadline_exceeded after 130ms of 200ms (70ms of it reserved), limited by tidies ("),
        "{text}"
    );
}

#[deadline(budget = "20ms")]
async fn computes_too_long(begun: &Mutex<u32>) -> Result<(), AppError> {
    // A thread that is busy past the limit, with no checkpoint in between.
    let start = std::time::Instant::now();
    let busy = || start.elapsed() < ms(40);
    std::iter::repeat_with(busy)
        .take_while(|busy| *busy)
        .count();
    async { *begun.lock().unwrap() += 1 }.await;
    Ok(())
}

#[tokio::test]
async fn an_await_after_the_limit_is_not_begun() {
    let begun = Mutex::new(0);
    match computes_too_long(&begun).await {
        Err(AppError::Stopped(stopped)) => assert_eq!(stopped.cause(), Cause::DeadlineExceeded),
        other => panic!("{other:?}"),
    }
    assert_eq!(begun.into_inner().unwrap(), 0);
}

#[deadline(budget = "200ms", cleanup = "50ms")]
async fn tidies_behind_a_guard(log: Log<'_>) -> Result<u32, AppError> {
    let start = Instant::now();
    match 1 {
        // An await like any other: the stop is its value.
        _ if work().await.is_ok() => Ok(1),
        _ => {
            note(log, start, "below");
            Ok(2)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_await_in_the_guard_of_an_arm_meets_the_stop_too() {
    let log = Mutex::new(Vec::new());
    assert!(matches!(tidies_behind_a_guard(&log).await, Ok(2)));
    assert_eq!(log.into_inner().unwrap(), [("below", ms(150))]);
}
