//! Scopes that tidy up: guards hand the stop to the body, which is polled until the end of its cleanup.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::{pending, poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;

use common::rt::{Shield, Spec, guard};
use common::{ms, poll_here};
use deadline_runtime::{Budget, Cause, Context, Millis, Outcome, Phase, Stopped, Unbudgeted};
use futures::FutureExt as _;
use tokio::time::{Instant, advance, sleep};

type Forever = Result<(), Stopped>;

#[tokio::test(start_paused = true)]
async fn the_body_sees_the_stop_and_unwinds_by_itself() {
    let start = Instant::now();
    let tidied = Arc::new(AtomicUsize::new(0));
    let count = tidied.clone();
    let outcome: Result<(), Stopped> = scoped!(Millis<100>, "work".cleanup(30), {
        let seen = guard(pending::<()>()).await;
        count.fetch_add(1, Relaxed);
        seen?;
        Ok(())
    })
    .await;
    let stopped = outcome.unwrap_err();
    assert_eq!(start.elapsed(), ms(70));
    assert_eq!(tidied.load(Relaxed), 1);
    assert_eq!(
        (stopped.cause(), stopped.phase(), stopped.elapsed()),
        (Cause::DeadlineExceeded, Phase::Wait, ms(70))
    );
    assert!(stopped.location().file().ends_with("cleanup.rs"));
}

#[tokio::test(start_paused = true)]
async fn tidying_ends_at_the_hard_deadline() {
    let start = Instant::now();
    let outcome: Result<(), Stopped> = scoped!(Millis<100>, "work".cleanup(30).reserve(20), {
        assert!(guard(pending::<()>()).await.is_err());
        assert_eq!(start.elapsed(), ms(50));
        // Not guarded: it goes on until the very end.
        pending::<Forever>().await
    })
    .await;
    let stopped = outcome.unwrap_err();
    assert_eq!((start.elapsed(), stopped.elapsed()), (ms(100), ms(100)));
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
}

/// And not from when the clock was last read, which may have been before something that took its time.
#[tokio::test(start_paused = true)]
async fn tidying_is_counted_from_the_stop() {
    const SHIELD: Spec<Millis<200>> = Spec::new("shield");
    let cx = Context::root("request", Budget::new(ms(1_000)));
    let cancel = cx.clone();
    let outcome = cx
        .run(scoped!(Millis<500>, "work".cleanup(30), {
            let mut begun = false;
            let slow = poll_fn(move |_| {
                if !std::mem::replace(&mut begun, true) {
                    assert!(advance(ms(50)).now_or_never().is_none());
                    cancel.cancel(Cause::UserCancelled);
                }
                Poll::<()>::Pending
            });
            let shielded = match (Shield::enter(&SHIELD), async { await_!(slow) }) {
                (shield, future) => shield.run(future),
            };
            let seen = guard(shielded).await;
            assert!(seen.is_err());
            let start = Instant::now();
            sleep(ms(20)).await;
            Ok::<_, Stopped>(start.elapsed())
        }))
        .await;
    assert_eq!(outcome.unwrap().unwrap(), ms(20));
}

#[tokio::test(start_paused = true)]
async fn a_shield_fits_into_the_cleanup_and_no_further() {
    const ROLLBACK: Spec<Millis<20>> = Spec::new("rollback");
    for (cleanup_left, fits) in [(20, true), (19, false)] {
        let start = Instant::now();
        let outcome: Result<bool, Stopped> = scoped!(Millis<100>, "work".cleanup(30), {
            assert!(guard(pending::<()>()).await.is_err());
            sleep(ms(30 - cleanup_left)).await;
            let rolled_back = match (Shield::enter(&ROLLBACK), sleep(ms(15))) {
                (shield, future) => shield.run(future).await,
            };
            if let Err(stopped) = &rolled_back {
                assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
                assert_eq!(stopped.needed(), Some((ms(20), ms(19))));
            }
            Ok(rolled_back.is_ok())
        })
        .await;
        assert_eq!(outcome.unwrap(), fits);
        assert_eq!(start.elapsed(), ms(if fits { 95 } else { 81 }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_leaves_the_whole_cleanup_but_nothing_beyond_the_deadline() {
    for (cancel_at, ends_at) in [(10, 60), (60, 100), (99, 100)] {
        let cx = Context::root("request", Budget::new(ms(500)));
        let start = Instant::now();
        let task = tokio::spawn(
            cx.run(scoped!(Millis<100>, "work".cleanup(30).reserve(20), {
                assert!(guard(pending::<()>()).await.is_err());
                pending::<Forever>().await
            })),
        );
        sleep(ms(cancel_at)).await;
        cx.cancel(Cause::ClientCancelled);
        let outcome = task.await.unwrap();
        let cause = if cancel_at < 50 {
            Cause::ClientCancelled
        } else {
            Cause::DependencyTimeout
        };
        let stopped = match outcome {
            Ok(inner) => inner.unwrap_err(),
            Err(outer) => outer,
        };
        assert_eq!(stopped.cause(), cause);
        assert_eq!(start.elapsed(), ms(ends_at), "cancelled at {cancel_at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_is_noticed_late_leaves_no_more_than_there_is() {
    let start = Instant::now();
    let cx = Context::root("request", Budget::new(ms(500)));
    let outcome: Result<Result<(), Stopped>, Stopped> = cx
        .run(scoped!(Millis<100>, "work".cleanup(30).reserve(20), {
            // Busy over the end of work at 50.
            tokio::time::advance(ms(70)).await;
            assert!(guard(ready(())).await.is_err());
            pending::<Forever>().await
        }))
        .await;
    assert!(outcome.unwrap().is_err());
    assert_eq!(start.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn redelivered_once_a_turn() {
    let deliveries = Arc::new(AtomicUsize::new(0));
    let count = deliveries.clone();
    let mut scope = Box::pin(scoped!(Millis<100>, "work".cleanup(30), {
        loop {
            // Swallows every stop.
            if guard(pending::<()>()).await.is_err() {
                count.fetch_add(1, Relaxed);
            }
        }
        #[allow(unreachable_code)]
        Ok::<(), Stopped>(())
    }));
    assert!(poll_here(scope.as_mut()).await.is_pending());
    tokio::time::advance(ms(70)).await;
    // The first at once, and from then on one a poll: the guard yields first.
    let mut seen = Vec::new();
    for _ in 0..5 {
        assert!(poll_here(scope.as_mut()).await.is_pending());
        seen.push(deliveries.load(Relaxed));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_swallows_the_stop_is_soon_shown_it_once_a_tick() {
    let start = Instant::now();
    let shown = Arc::new(AtomicUsize::new(0));
    let count = shown.clone();
    // Under an outer scope, which owns the task's timer.
    let outer: Result<(), Stopped> = scoped!(Millis<500>, "outer", {
        scoped!(Millis<100>, "work".cleanup(50), {
            loop {
                if guard(pending::<()>()).await.is_err() {
                    count.fetch_add(1, Relaxed);
                }
            }
        })
        .await
    })
    .await;
    assert_eq!(outer.unwrap_err().cause(), Cause::DependencyTimeout);
    assert_eq!(start.elapsed(), ms(100));
    // Ten without a wait, then one a millisecond for 50 ms of cleanup; some ticks fall together with the timer's own.
    let shown = shown.load(Relaxed);
    assert!((30..=60).contains(&shown), "{shown}");
}

#[tokio::test]
async fn a_loop_that_swallows_the_stop_is_dropped_at_the_end_of_its_cleanup() {
    // Real time: a virtual clock does not move while a task is always ready.
    let start = std::time::Instant::now();
    let others = Arc::new(AtomicUsize::new(0));
    let count = others.clone();
    let ticking = tokio::spawn(async move {
        loop {
            count.fetch_add(1, Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let outcome: Result<(), Stopped> = scoped!(Millis<60>, "work".cleanup(30), {
        loop {
            let _ = guard(pending::<()>()).await;
        }
    })
    .await;
    let took = start.elapsed();
    ticking.abort();
    assert_eq!(outcome.unwrap_err().cause(), Cause::DeadlineExceeded);
    assert!(took >= ms(60) && took < ms(5_000), "{took:?}");
    assert!(others.load(Relaxed) > 0);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_ready_passes_the_guard() {
    let outcome: Result<u8, Stopped> = scoped!(Millis<100>, "work".cleanup(30), {
        sleep(ms(20)).await;
        let value = guard(ready(1)).await?;
        let slow = guard(sleep(ms(50))).await;
        // Ready at the very end of work.
        assert!(slow.is_ok());
        // Begun after it: refused, although it would be ready.
        assert!(guard(ready(1)).await.is_err());
        Ok(value)
    })
    .await;
    assert_eq!(outcome.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outer_scope_waits_for_the_cleanup_inside() {
    for foreign in [false, true] {
        let tidied = Arc::new(AtomicUsize::new(0));
        let count = tidied.clone();
        let cx = Context::builder("request")
            .budget(Budget::new(ms(500)))
            .report(true)
            .build();
        let task = tokio::spawn(cx.run(scoped!(Unbudgeted, "outer", {
            let inner = scoped!(Millis<300>, "inner".cleanup(40), {
                let stopped = guard(pending::<()>()).await;
                sleep(ms(25)).await;
                count.fetch_add(1, Relaxed);
                stopped?;
                Ok::<(), Stopped>(())
            });
            if foreign {
                use futures::stream::{FuturesUnordered, StreamExt as _};
                let mut set: FuturesUnordered<_> = [inner].into_iter().collect();
                let _ = set.next().await;
            } else {
                let _ = inner.await;
            }
            await_!(pending::<Forever>())
        })));
        sleep(ms(10)).await;
        let start = Instant::now();
        cx.cancel(Cause::ClientCancelled);
        let stopped = task.await.unwrap().unwrap().unwrap_err();
        assert_eq!(tidied.load(Relaxed), 1, "foreign {foreign}");
        assert_eq!(
            (stopped.cause(), start.elapsed()),
            (Cause::ClientCancelled, ms(25)),
            "foreign {foreign}"
        );
        let inner = cx.report().unwrap().scopes;
        let inner = inner
            .iter()
            .find(|scope| scope.operation == "inner")
            .unwrap();
        assert_eq!((inner.elapsed, inner.outcome), (ms(35), Outcome::Completed));
    }
}

#[tokio::test(start_paused = true)]
async fn without_cleanup_the_body_gets_one_more_poll_and_one_hop() {
    // A child's error that is ready is used; a new await is not begun.
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let outcome: Result<(), Stopped> = scoped!(Millis<100>, "outer", {
        let inner = scoped!(Unbudgeted, "inner", { await_!(pending::<Forever>()) });
        assert!(inner.await.is_err());
        await_!(async {
            count.fetch_add(1, Relaxed);
        });
        Ok(())
    })
    .await;
    let stopped = outcome.unwrap_err();
    assert_eq!((stopped.operation(), stopped.elapsed()), ("outer", ms(100)));
    assert_eq!(begun.load(Relaxed), 0);
}
