//! Work that is refused before it starts: never begun, arguments dropped, and never a busy loop.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::cell::Cell;
use std::future::{pending, ready};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::{Woken, ms, poll, poll_here};
use deadline_runtime::{Budget, Cause, Context, Millis, Percent, Phase, Stopped, Unbudgeted};
use tokio::time::{advance, sleep};

type Forever = Result<(), Stopped>;

/// Tells when it is dropped.
struct Argument(Rc<Cell<bool>>);
impl Drop for Argument {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[tokio::test(start_paused = true)]
async fn the_body_is_never_entered_and_its_arguments_are_dropped_at_once() {
    let expired = Context::root("request", Budget::new(ms(0)));
    let cancelled = Context::root("request", Budget::new(ms(500)));
    cancelled.cancel(Cause::Overload);
    let short = Context::root("request", Budget::new(ms(40)));
    for (cx, cause) in [
        (expired, Cause::DeadlineExceeded),
        (cancelled, Cause::Overload),
        (short, Cause::LocalBudgetRejected),
    ] {
        let dropped = Rc::new(Cell::new(false));
        let entered = Rc::new(Cell::new(false));
        let (argument, mark) = (Argument(dropped.clone()), entered.clone());
        let mut scope = Box::pin(cx.enter(|| {
            scoped!(Unbudgeted, "work".min(50), {
                let _argument = argument;
                mark.set(true);
                await_!(ready(Ok::<(), Stopped>(())))
            })
        }));
        let (_, waker) = Woken::new();
        let std::task::Poll::Ready(Err(stopped)) = poll(scope.as_mut(), &waker) else {
            panic!("not refused");
        };
        assert_eq!((stopped.cause(), stopped.phase()), (cause, Phase::Start));
        assert!(dropped.get() && !entered.get());
        assert_eq!(stopped.operation(), "work");
    }
}

#[tokio::test(start_paused = true)]
async fn what_it_says() {
    let cx = Context::root("request", Budget::new(ms(100)));
    sleep(ms(40)).await;
    let refused = |stopped: Stopped| {
        stopped
            .to_string()
            .replace(concat!(env!("CARGO_MANIFEST_DIR"), "/"), "")
    };
    let text = refused(
        cx.enter(|| {
            scoped!(Unbudgeted, "work".min(50).reserve(20), {
                Ok::<(), Stopped>(())
            })
        })
        .await
        .unwrap_err(),
    );
    assert!(
        text.starts_with(
            "work refused: local_budget_rejected: needs 70ms, has 60ms, limited by request ("
        ),
        "{text}"
    );
    // Half of its budget of 200, not of what is left.
    let text = refused(
        cx.enter(|| {
            scoped!(Millis<200>, "work".min_percent(50), {
                Ok::<(), Stopped>(())
            })
        })
        .await
        .unwrap_err(),
    );
    assert!(text.contains("needs 100ms, has 60ms"), "{text}");
    // Half of a share of what is left fits.
    let share = cx.enter(|| {
        scoped!(Percent<50>, "work".min_percent(50), {
            Ok::<(), Stopped>(())
        })
    });
    assert!(share.await.is_ok());
    let text = refused(
        cx.enter(|| scoped!(Percent<50>, "work".min(31), { Ok::<(), Stopped>(()) }))
            .await
            .unwrap_err(),
    );
    assert!(
        text.contains("needs 31ms, has 30ms, limited by work"),
        "{text}"
    );
    sleep(ms(60)).await;
    let text = refused(
        cx.enter(|| scoped!(Unbudgeted, "work", { Ok::<(), Stopped>(()) }))
            .await
            .unwrap_err(),
    );
    assert!(
        text.starts_with("work refused: deadline_exceeded, limited by request ("),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_deadline_can_be_required() {
    let work = || {
        scoped!(Millis<50>, "work".parent_required(), {
            Ok::<u8, Stopped>(1)
        })
    };
    let stopped = work().await.unwrap_err();
    assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
    assert!(
        stopped.to_string().starts_with(
            "work refused: local_budget_rejected: it requires a deadline and none is in scope, at "
        ),
        "{stopped}"
    );
    // A context without a deadline is none; one with is.
    let unlimited = Context::root("job", Budget::inherited());
    assert!(unlimited.enter(work).await.is_err());
    let limited = Context::root("job", Budget::new(ms(100)));
    assert_eq!(limited.enter(work).await.unwrap(), 1);
    assert_eq!(
        limited.run(async { work().await }).await.unwrap().unwrap(),
        1
    );
    assert!(
        Context::none()
            .run(async { work().await })
            .await
            .unwrap()
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_swallows_refusals_gives_its_thread_away_and_ends() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let mut outer = Box::pin(scoped!(Millis<100>, "outer".reserve(20), {
        sleep(ms(80)).await;
        loop {
            let inner = scoped!(Unbudgeted, "inner", { Ok::<(), Stopped>(()) });
            assert!(await_!(inner).is_err());
            count.fetch_add(1, Relaxed);
        }
        #[allow(unreachable_code)]
        Ok::<(), Stopped>(())
    }));
    assert!(poll_here(outer.as_mut()).await.is_pending());
    advance(ms(80)).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        assert!(poll_here(outer.as_mut()).await.is_pending());
        seen.push(calls.load(Relaxed));
    }
    // One, and from then on a few a turn.
    assert!(seen.is_sorted() && seen[0] == 1 && seen[3] <= 8, "{seen:?}");
    // Its own end, a little after that of its children.
    advance(ms(5)).await;
    let stopped = outer.await.unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.elapsed()),
        (Cause::DeadlineExceeded, ms(85))
    );
}

#[tokio::test(start_paused = true)]
async fn a_gate_does_not_begin_what_nobody_has_time_for() {
    let begun = Arc::new(AtomicUsize::new(0));
    for reserve in [false, true] {
        let count = begun.clone();
        let body = async move {
            sleep(ms(80)).await;
            await_!(async {
                count.fetch_add(1, Relaxed);
            });
            Ok::<(), Stopped>(())
        };
        let cx = if reserve {
            Context::root("request", Budget::new(ms(100)).reserve(ms(20)))
        } else {
            Context::root("request", Budget::new(ms(80)))
        };
        let stopped = cx.run(body).await.unwrap_err();
        assert_eq!(stopped.elapsed(), ms(if reserve { 85 } else { 80 }));
    }
    assert_eq!(begun.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_held_back_refusal_that_is_dropped_is_recorded() {
    let cx = Context::builder("request")
        .budget(Budget::new(ms(10)))
        .report(true)
        .build();
    let (_, waker) = Woken::new();
    let mut run = Box::pin(cx.run(async {
        sleep(ms(10)).await;
        let inner = || scoped!(Unbudgeted, "inner", { Ok::<(), Stopped>(()) });
        assert!(inner().await.is_err());
        let mut held = Box::pin(inner());
        assert!(poll_here(held.as_mut()).await.is_pending());
        drop(held);
        pending::<Forever>().await
    }));
    assert!(poll(run.as_mut(), &waker).is_pending());
    advance(ms(10)).await;
    assert!(poll(run.as_mut(), &waker).is_pending());
    let scopes = cx.report().unwrap().scopes;
    assert_eq!(
        scopes
            .iter()
            .filter(|scope| scope.operation == "inner")
            .count(),
        2
    );
}
