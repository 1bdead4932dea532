//! The life of a scope, on the paused clock, with the calls that the attribute expands to.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

use std::future::{Future, pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use deadline_runtime::__rt::{Limit, Pace, Scoped, Settle as _, Shield, Spec, gate_later, nothing};
use deadline_runtime::{
    Budget, Budgeted, Cause, Context, Millis, Phase, Stopped, Unbudgeted, timeout,
};
use tokio::time::{Instant, sleep};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

macro_rules! scoped {
    ($budget:ty, $name:literal $(. $figure:ident($value:literal))*, $body:expr) => {{
        static SCOPE: Spec<$budget> = Spec::new($name)$(.$figure($value))*;
        Scoped::<_, $budget>::new(SCOPE.here(), async move { $body })
    }};
}

macro_rules! await_ {
    ($future:expr) => {
        gate_later(nothing(), $future, 0).await
    };
}

#[tokio::test(start_paused = true)]
async fn an_outermost_scope_ends_at_its_budget() {
    let start = Instant::now();
    let stopped: Result<(), Stopped> = scoped!(Millis<450>, "load", {
        await_!(pending::<Result<(), Stopped>>())
    })
    .await;
    let stopped = stopped.unwrap_err();
    assert_eq!(start.elapsed(), ms(450));
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.phase(), Phase::Wait);
    assert_eq!(stopped.limited_by().operation(), "load");
    assert_eq!(stopped.budget(), Some(ms(450)));
    assert_eq!(stopped.elapsed(), ms(450));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_too_slow_is_a_dependency_timeout() {
    let start = Instant::now();
    let outcome: Result<Cause, Stopped> = scoped!(Millis<900>, "outer", {
        let child = scoped!(Millis<450>, "inner", {
            await_!(pending::<Result<(), Stopped>>())
        });
        let stopped = await_!(child).unwrap_err();
        assert_eq!(stopped.limited_by().operation(), "inner");
        Ok(stopped.cause())
    })
    .await;
    assert_eq!(start.elapsed(), ms(450));
    assert_eq!(outcome.unwrap(), Cause::DependencyTimeout);
}

#[tokio::test(start_paused = true)]
async fn a_child_can_only_shorten() {
    let start = Instant::now();
    let outcome: Result<Stopped, Stopped> = scoped!(Millis<100>, "outer".reserve(40), {
        let child = scoped!(Millis<450>, "inner", {
            await_!(pending::<Result<(), Stopped>>())
        });
        Ok(await_!(child).unwrap_err())
    })
    .await;
    let stopped = outcome.unwrap();
    assert_eq!(start.elapsed(), ms(60));
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.limited_by().operation(), "outer");
}

#[tokio::test(start_paused = true)]
async fn an_expired_scope_never_enters_its_body() {
    let entered = Arc::new(AtomicUsize::new(0));
    let cx = Context::root("request", Budget::new(ms(10)));
    sleep(ms(10)).await;
    let body = entered.clone();
    let stopped = cx
        .run(async move {
            body.fetch_add(1, Relaxed);
        })
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.phase(), Phase::Start);
    assert_eq!(entered.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn below_the_minimum_is_refused_and_equality_runs() {
    for (left, runs) in [(50, true), (49, false)] {
        let cx = Context::root("request", Budget::new(ms(left)));
        let outcome = cx
            .run(scoped!(Unbudgeted, "work".min(50), {
                Ok::<u8, Stopped>(await_!(ready(1)))
            }))
            .await
            .unwrap();
        match outcome {
            Ok(_) => assert!(runs),
            Err(stopped) => {
                assert!(!runs);
                assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
                assert_eq!(stopped.needed(), Some((ms(50), ms(49))));
                assert!(stopped.to_string().starts_with(
                    "work refused: local_budget_rejected: needs 50ms, has 49ms, limited by request (deadline-runtime/tests/scope.rs:"
                ), "{stopped}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reserve_lets_the_body_answer_after_its_child_was_stopped() {
    for _ in 0..50 {
        let outcome: Result<&str, Stopped> = scoped!(Millis<100>, "outer".reserve(20), {
            let child = tokio::spawn(scoped!(Millis<450>, "inner", {
                await_!(pending::<Result<(), Stopped>>())
            }));
            match await_!(child) {
                Ok(Err(_)) => Ok("fallback"),
                other => panic!("{other:?}"),
            }
        })
        .await;
        assert_eq!(outcome.unwrap(), "fallback");
    }
}

#[tokio::test(start_paused = true)]
async fn the_context_survives_spawn_and_a_cancel_reaches_it() {
    let cx = Context::root("request", Budget::new(ms(500)));
    let work = || {
        scoped!(Unbudgeted, "work", {
            await_!(pending::<Result<(), Stopped>>())
        })
    };
    let (now, later) = cx.enter(|| (tokio::spawn(work()), tokio::spawn(work())));
    tokio::task::yield_now().await;
    sleep(ms(10)).await;
    assert!(cx.cancel(Cause::ClientCancelled));
    assert!(!cx.cancel(Cause::Shutdown));
    for task in [now, later] {
        let stopped = task.await.unwrap().unwrap_err();
        assert_eq!(stopped.cause(), Cause::ClientCancelled);
        assert_eq!(stopped.elapsed(), ms(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_after_the_deadline_is_the_deadline() {
    let cx = Context::root("request", Budget::new(ms(10)));
    sleep(ms(10)).await;
    cx.cancel(Cause::ClientCancelled);
    assert_eq!(cx.cause(), Some(Cause::DeadlineExceeded));
}

#[tokio::test(start_paused = true)]
async fn a_value_one_hop_away_is_kept() {
    let cx = Context::root("request", Budget::new(ms(10)));
    let mut kept = 0;
    for _ in 0..20 {
        let (send, receive) = tokio::sync::oneshot::channel();
        let cx = Context::root("request", Budget::new(ms(10)));
        tokio::spawn(async move {
            sleep(ms(10)).await;
            let _ = send.send(1);
        });
        if let Ok(Ok(1)) = cx.run(receive).await {
            kept += 1;
        }
    }
    assert_eq!(kept, 20);
    drop(cx);
}

#[tokio::test(start_paused = true)]
async fn foreign_wakers_get_their_own_timer() {
    use futures::stream::{FuturesUnordered, StreamExt};
    let start = Instant::now();
    let outcome: Result<usize, Stopped> = scoped!(Millis<900>, "outer", {
        let mut all: FuturesUnordered<_> = (0..40)
            .map(|_| {
                scoped!(Millis<50>, "inner", {
                    await_!(pending::<Result<(), Stopped>>())
                })
            })
            .collect();
        let mut stopped = 0;
        while let Some(result) = all.next().await {
            assert_eq!(result.unwrap_err().cause(), Cause::DependencyTimeout);
            stopped += 1;
        }
        Ok(stopped)
    })
    .await;
    assert_eq!(outcome.unwrap(), 40);
    assert_eq!(start.elapsed(), ms(50));
}

#[tokio::test]
async fn a_loop_that_never_yields_stops_at_its_checkpoint() {
    let start = std::time::Instant::now();
    let outcome: Result<(), Stopped> = scoped!(Millis<20>, "crunch", {
        loop {
            if let Some(stopped) = Pace::new().checkpoint() {
                return Err(stopped);
            }
            std::hint::spin_loop();
        }
    })
    .await;
    let stopped = outcome.unwrap_err();
    assert_eq!(stopped.phase(), Phase::Compute);
    assert!(start.elapsed() >= ms(20));
}

#[tokio::test(start_paused = true)]
async fn statement_caps_share_one_deadline_and_are_replaced_when_missed() {
    const CAP: Spec<Millis<100>> = Spec::new("recent");
    let outcome: Result<(Duration, &str, Vec<(&str, Cause)>), Stopped> =
        scoped!(Millis<900>, "outer", {
            let start = Instant::now();
            let value = 'budget: {
                let limit = Limit::start(&CAP);
                match limit.run_or_miss(sleep(ms(80))).await.deadline_settle() {
                    Ok(()) => {}
                    Err(_) => break 'budget "missed",
                }
                // A callee that returns the stop of exactly this cap.
                let callee = scoped!(Unbudgeted, "callee", {
                    await_!(pending::<()>());
                    Ok::<&str, Stopped>("never")
                });
                match limit.run_or_miss(callee).await.deadline_settle() {
                    Ok(value) => value?,
                    Err(stopped) => {
                        assert_eq!(stopped.cause(), Cause::DependencyTimeout);
                        break 'budget "missed";
                    }
                }
            };
            let missing = Context::current()
                .missing()
                .iter()
                .map(|m| (m.operation(), m.cause()))
                .collect();
            Ok((start.elapsed(), value, missing))
        })
        .await;
    let (elapsed, value, missing) = outcome.unwrap();
    assert_eq!((elapsed, value), (ms(100), "missed"));
    assert_eq!(missing, [("recent", Cause::DependencyTimeout)]);
}

#[tokio::test(start_paused = true)]
async fn a_missed_cap_is_not_hidden_by_a_limit_of_somebody_else() {
    const CAP: Spec<Millis<50>> = Spec::new("cap");
    for own_first in [true, false] {
        let outcome: Result<bool, Stopped> = scoped!(Millis<900>, "outer", {
            let forever = pending::<Result<(), Stopped>>;
            // Half a millisecond earlier: both are noticed by the same turn of the timer.
            let other = Context::root("other", Budget::new(Duration::from_micros(49_500)));
            let by_cap = scoped!(Unbudgeted, "by_cap", { await_!(forever()) });
            let by_other = other.enter(|| scoped!(Unbudgeted, "by_other", { await_!(forever()) }));
            let limit = Limit::start(&CAP);
            let both = async {
                let (a, b) = if own_first {
                    tokio::join!(biased; by_cap, by_other)
                } else {
                    let (b, a) = tokio::join!(biased; by_other, by_cap);
                    (a, b)
                };
                a.and(b)
            };
            Ok(limit.run_or_miss(both).await.deadline_settle().is_err())
        })
        .await;
        assert!(outcome.unwrap(), "own first: {own_first}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shield_holds_against_a_cancel_but_not_beyond_its_bound() {
    const SHIELD: Spec<Millis<50>> = Spec::new("rollback");
    for (takes, done) in [(40, 1), (60, 0)] {
        let finished = Arc::new(AtomicUsize::new(0));
        let cx = Context::root("request", Budget::new(ms(500)));
        let count = finished.clone();
        let work = cx.enter(|| {
            scoped!(Unbudgeted, "work", {
                let work = async move {
                    sleep(ms(takes)).await;
                    count.fetch_add(1, Relaxed);
                };
                let shielded = match (Shield::enter(&SHIELD), work) {
                    (shield, future) => shield.run(future).await,
                };
                if let Err(stopped) = shielded {
                    return Err::<(), Stopped>(stopped);
                }
                await_!(pending::<Result<(), Stopped>>())
            })
        });
        let task = tokio::spawn(work);
        sleep(ms(5)).await;
        let start = Instant::now();
        cx.cancel(Cause::ClientCancelled);
        let stopped = task.await.unwrap().unwrap_err();
        assert_eq!(finished.load(Relaxed), done);
        let (cause, at) = if done == 1 {
            (Cause::ClientCancelled, 35)
        } else {
            (Cause::DependencyTimeout, 45)
        };
        assert_eq!((stopped.cause(), start.elapsed()), (cause, ms(at)));
    }
}

#[tokio::test(start_paused = true)]
async fn timeout_obeys_the_request() {
    let outcome: Result<Stopped, Stopped> = scoped!(Millis<30>, "outer".reserve(10), {
        Ok(timeout(ms(100), pending::<()>()).await.unwrap_err())
    })
    .await;
    let stopped = outcome.unwrap();
    assert_eq!(
        (stopped.cause(), stopped.elapsed()),
        (Cause::DeadlineExceeded, ms(20))
    );
    assert_eq!(stopped.limited_by().operation(), "outer");
    let stopped = timeout(Duration::ZERO, ready(1)).await.unwrap_err();
    assert_eq!(stopped.phase(), Phase::Start);
    assert_eq!(timeout(Duration::MAX, ready(1)).await.unwrap(), 1);
}

#[test]
fn without_a_runtime_a_deadline_still_holds() {
    let start = std::time::Instant::now();
    let outcome: Result<(), Stopped> = futures::executor::block_on(scoped!(Millis<20>, "load", {
        await_!(pending::<Result<(), Stopped>>())
    }));
    assert_eq!(outcome.unwrap_err().cause(), Cause::DeadlineExceeded);
    assert!(start.elapsed() >= ms(20));
}

#[test]
fn sizes() {
    fn size<F: Future + Budgeted>(_: &F) -> usize {
        size_of::<F>()
    }
    let scope = scoped!(Millis<20>, "load", { Ok::<(), Stopped>(()) });
    println!("scope around an empty body: {} bytes", size(&scope));
}
