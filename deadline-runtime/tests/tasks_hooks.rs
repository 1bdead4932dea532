//! After-stop hooks: what runs when the body of a stopped scope is gone.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::pending;
use std::sync::{Arc, Mutex};

use common::ms;
use deadline_runtime::{
    AfterStop, AfterStopOutcome as Outcome, Budget, Cause, Context, Mode, Stopped, Tracker,
    deadline,
};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

type Log = Arc<Mutex<Vec<String>>>;

fn request(tracker: &Tracker, grace: u64) -> Context {
    Context::builder("request")
        .budget(Budget::new(ms(100)))
        .request_id("r9")
        .tracker(tracker)
        .grace(ms(grace))
        .build()
}

fn hook(cx: &Context, name: &'static str, takes: u64, log: &Log) -> AfterStop {
    let log = log.clone();
    cx.after_stop(name, move |_| async move {
        sleep(ms(takes)).await;
        log.lock().unwrap().push(name.to_owned());
    })
}

fn records(cx: &Context) -> Vec<String> {
    let report = cx.report().unwrap();
    report.after_stop.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn hooks_run_after_the_body_is_gone_the_last_one_first() {
    struct Body(Log);
    impl Drop for Body {
        fn drop(&mut self) {
            self.0.lock().unwrap().push("body".to_owned());
        }
    }
    let tracker = Tracker::new();
    let cx = request(&tracker, 1_000);
    let log = Log::default();
    let (inside, noted) = (cx.clone(), log.clone());
    let outcome = cx
        .run(async move {
            let _body = Body(noted.clone());
            hook(&inside, "first", 10, &noted);
            hook(&Context::current(), "second", 10, &noted);
            pending::<()>().await
        })
        .await;
    assert_eq!(outcome.unwrap_err().cause(), Cause::DeadlineExceeded);
    // Nobody waits for them.
    assert_eq!(*log.lock().unwrap(), ["body"]);
    assert_eq!(tracker.stats().after_stop, 2);
    tracker.wait(ms(1_000)).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["body", "second", "first"]);
    assert_eq!(records(&cx), ["second: completed", "first: completed"]);
    assert!(
        cx.report()
            .unwrap()
            .to_string()
            .contains("after the stop: second: completed")
    );
}

#[tokio::test(start_paused = true)]
async fn a_hook_has_a_fresh_context_inside_the_request() {
    let tracker = Tracker::new();
    let cx = request(&tracker, 300);
    let seen = Arc::new(Mutex::new(None));
    let noted = seen.clone();
    cx.after_stop("look", move |cx| {
        let captured = Context::current();
        async move {
            let ambient = Context::current();
            assert_eq!(captured.remaining(), cx.remaining());
            *noted.lock().unwrap() = Some((
                cx.cause(),
                cx.remaining(),
                cx.request_id(),
                ambient.request_id(),
            ));
        }
    });
    cx.cancel(Cause::ClientCancelled);
    // Not before something ran under it and was stopped.
    yield_now().await;
    assert!(seen.lock().unwrap().is_none());
    let own = cx.clone();
    drop(cx.run(async {}).await);
    let other = request(&tracker, 300);
    let (inside, noted) = (other.clone(), seen.clone());
    let run = other.run(async move {
        let cx = inside.clone();
        inside.after_stop("look", move |hook| async move {
            assert_eq!(cx.cause(), Some(Cause::ClientCancelled));
            *noted.lock().unwrap() = Some((
                hook.cause(),
                hook.remaining(),
                hook.request_id(),
                Context::current().request_id(),
            ));
        });
        inside.cancel(Cause::ClientCancelled);
        pending::<()>().await
    });
    assert_eq!(run.await.unwrap_err().cause(), Cause::ClientCancelled);
    tracker.wait(ms(1_000)).await.unwrap();
    let id = Some(Arc::from("r9"));
    assert_eq!(
        *seen.lock().unwrap(),
        Some((None, Some(ms(300)), id.clone(), id))
    );
    assert_eq!(own.cause(), Some(Cause::ClientCancelled));
}

#[tokio::test(start_paused = true)]
async fn hooks_that_are_due_together_share_one_grace() {
    #[deadline]
    async fn inner(log: Log) -> Result<(), Stopped> {
        hook(&Context::current(), "a", 500, &log);
        pending().await
    }
    #[deadline]
    async fn outer(log: Log) -> Result<(), Stopped> {
        hook(&Context::current(), "c", 0, &log);
        hook(&Context::current(), "b", 1_000, &log);
        inner(log).await
    }
    let tracker = Tracker::new();
    let cx = request(&tracker, 1_000);
    let log = Log::default();
    let start = Instant::now();
    let noted = log.clone();
    assert!(
        cx.run(async move { outer(noted).await })
            .await
            .unwrap()
            .is_err()
    );
    assert_eq!(start.elapsed(), ms(100));
    tracker.wait(ms(5_000)).await.unwrap();
    // `b` wants a second and has half of one; nothing is left for `c`.
    assert_eq!(start.elapsed(), ms(1_100));
    assert_eq!(*log.lock().unwrap(), ["a"]);
    assert_eq!(
        records(&cx),
        [
            "a: completed",
            "b: cut off at the end of the grace",
            "c: not run"
        ]
    );
}

/// A child meets the stop first, and `?` hands its error on: the scope was stopped all the same.
#[tokio::test(start_paused = true)]
async fn an_error_is_a_stop_only_if_it_is_the_scopes_own() {
    #[deadline(budget = "20ms")]
    async fn short() -> Result<(), Stopped> {
        pending().await
    }
    #[deadline]
    async fn long() -> Result<(), Stopped> {
        pending().await
    }
    #[deadline(budget = "60ms", reserve = "20ms")]
    async fn work(which: u8, log: Log) -> Result<(), Stopped> {
        hook(&Context::current(), "hook", 0, &log);
        match which {
            // The budget of a dependency: an error as any other.
            0 => short().await,
            // Its own limit, as its child met it.
            1 => long().await,
            // A fallback has replaced it.
            2 => {
                #[budget("30ms", fallback = Ok(()))]
                let done = long().await;
                done
            }
            // Its own limit again: what the body makes of it cannot be told from an error.
            _ => long().await.or(Ok(())),
        }
    }
    for (which, runs) in [(0, false), (1, true), (2, false), (3, true)] {
        let tracker = Tracker::new();
        let cx = request(&tracker, 1_000);
        let log = Log::default();
        let noted = log.clone();
        let outcome = cx
            .run(async move { work(which, noted).await })
            .await
            .unwrap();
        assert_eq!(outcome.is_err(), which < 2);
        tracker.wait(ms(1_000)).await.unwrap();
        assert_eq!(log.lock().unwrap().len(), usize::from(runs), "{which}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_or_panics_neither_stops_the_others_nor_changes_the_cause() {
    let tracker = Tracker::new();
    let cx = request(&tracker, 1_000);
    let log = Log::default();
    let (inside, noted) = (cx.clone(), log.clone());
    let stopped = cx
        .run(async move {
            hook(&inside, "last", 10, &noted);
            inside.after_stop("panics", |cx| async move {
                assert!(cx.is_none(), "no {}", "luck");
            });
            inside.after_stop("panics early", |_| {
                if Context::current().remaining().is_some() {
                    panic!("at once");
                }
                async {}
            });
            inside.after_stop("fails", |_| async { Err::<(), _>("no connection") });
            inside.after_stop("stops", |cx| async move {
                cx.child(ms(5)).run(pending::<()>()).await
            });
            pending::<()>().await
        })
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    tracker.wait(ms(5_000)).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["last"]);
    let report = cx.report().unwrap();
    let outcomes: Vec<_> = report
        .after_stop
        .into_iter()
        .map(|hook| hook.outcome)
        .collect();
    assert!(matches!(&outcomes[0], Outcome::Failed(text) if text.starts_with("child stopped: ")));
    assert_eq!(
        outcomes[1..],
        [
            Outcome::Failed("no connection".to_owned()),
            Outcome::Panicked("at once".to_owned()),
            Outcome::Panicked("no luck".to_owned()),
            Outcome::Completed,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_value_drops_the_hooks_unrun_and_a_hook_can_be_taken_back() {
    let tracker = Tracker::new();
    let log = Log::default();
    let cx = request(&tracker, 1_000);
    let (inside, noted) = (cx.clone(), log.clone());
    let value = Arc::new(());
    let held = value.clone();
    cx.run(async move {
        hook(&inside, "never", 0, &noted);
        inside.after_stop("holds", move |_| async move { drop(held) });
    })
    .await
    .unwrap();
    assert_eq!(
        (tracker.stats().after_stop, Arc::strong_count(&value)),
        (0, 1)
    );

    let (inside, noted) = (cx.clone(), log.clone());
    let stopped = cx
        .run(async move {
            let kept = hook(&inside, "kept", 0, &noted);
            let taken = hook(&inside, "taken", 0, &noted);
            assert!(taken.deregister());
            // Dropping the handle is not taking the hook back.
            drop(kept);
            pending::<()>().await
        })
        .await;
    assert!(stopped.is_err());
    tracker.wait(ms(1_000)).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["kept"]);
    assert_eq!(records(&cx), ["kept: completed"]);
    // Nothing there to be taken back any more.
    assert!(!Context::none().after_stop("x", |_| async {}).deregister());
}

#[tokio::test(start_paused = true)]
async fn hooks_run_when_the_scope_is_dropped_from_outside() {
    let tracker = Tracker::new();
    for mode in [Mode::Enforce, Mode::Observe] {
        let cx = Context::builder("request")
            .tracker(&tracker)
            .mode(mode)
            .build();
        let log = Log::default();
        let (inside, noted) = (cx.clone(), log.clone());
        let task = tokio::spawn(cx.run(async move {
            hook(&inside, "outer", 0, &noted);
            let own = Context::current();
            hook(&own, "inner", 0, &noted);
            pending::<()>().await
        }));
        yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        tracker.wait(ms(1_000)).await.unwrap();
        assert_eq!(*log.lock().unwrap(), ["inner", "outer"], "{mode}");
    }
}

#[test]
fn without_a_runtime_they_are_not_run_and_that_is_said() {
    let cx = Context::builder("request").build();
    let inside = cx.clone();
    let mut run = Box::pin(cx.run(async move {
        inside.after_stop("unlock", |_| async {});
        pending::<()>().await
    }));
    assert!(common::poll(run.as_mut(), std::task::Waker::noop()).is_pending());
    drop(run);
    assert_eq!(records(&cx), ["unlock: not run"]);

    // Registered in a runtime that is gone by the time.
    let tracker = Tracker::new();
    let cx = Context::builder("request").tracker(&tracker).build();
    let inside = cx.clone();
    let mut run = Box::pin(cx.run(async move {
        inside.after_stop("unlock", |_| async {});
        inside.after_stop("undo", |_| async {});
        pending::<()>().await
    }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async { assert!(common::poll_here(run.as_mut()).await.is_pending()) });
    drop(runtime);
    drop(run);
    assert_eq!(records(&cx), ["undo: not run", "unlock: not run"]);
    assert!(tracker.stats().is_idle());
}
