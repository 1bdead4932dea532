//! Which cause, and whose limit: ties, orders of events, owners.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::{pending, ready};
use std::pin::pin;
use std::time::Duration;

use common::{ms, poll_here};
use deadline_runtime::{
    Budget, Cause, Context, Millis, Outcome, Percent, Phase, Stopped, Unbudgeted, timeout,
};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

const REPEATED: usize = 200;

type Forever = Result<(), Stopped>;

fn owner(stopped: &Stopped) -> (Cause, &'static str) {
    (stopped.cause(), stopped.limited_by().operation())
}

#[tokio::test(start_paused = true)]
async fn on_a_tie_the_limit_is_the_ancestors() {
    for _ in 0..REPEATED {
        let outcome: Result<Stopped, Stopped> = scoped!(Millis<100>, "outer", {
            let inner = scoped!(Millis<100>, "inner", { await_!(pending::<Forever>()) });
            Ok(await_!(inner).unwrap_err())
        })
        .await;
        let stopped = outcome.unwrap();
        assert_eq!(owner(&stopped), (Cause::DeadlineExceeded, "outer"));
        assert_eq!(stopped.operation(), "inner");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tie_with_what_is_left_after_the_reserve_is_a_tie() {
    for (budget, expected) in [
        (60, (Cause::DeadlineExceeded, "outer")),
        (59, (Cause::DependencyTimeout, "inner")),
    ] {
        let outcome: Result<Stopped, Stopped> = scoped!(Millis<100>, "outer".reserve(40), {
            let inner = async move {
                match budget {
                    60 => scoped!(Millis<60>, "inner", { await_!(pending::<Forever>()) }).await,
                    _ => scoped!(Millis<59>, "inner", { await_!(pending::<Forever>()) }).await,
                }
            };
            Ok(await_!(inner).unwrap_err())
        })
        .await;
        assert_eq!(owner(&outcome.unwrap()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_ancestors_limit_keeps_its_owner_through_every_level() {
    let outcome: Result<(), Stopped> = scoped!(Millis<50>, "a", {
        scoped!(Millis<900>, "b", {
            scoped!(Unbudgeted, "c", {
                scoped!(Percent<100>, "d", { await_!(pending::<Forever>()) }).await
            })
            .await
        })
        .await
    })
    .await;
    let stopped = outcome.unwrap_err();
    assert_eq!(owner(&stopped), (Cause::DeadlineExceeded, "a"));
    assert_eq!(stopped.operation(), "d");
    assert!(
        format!("{stopped:?}").contains("path a (at its limit) > b"),
        "{stopped:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_on_the_instant_of_the_limit_is_the_limit_whoever_is_first() {
    for cancel_first in [true, false] {
        for _ in 0..REPEATED {
            let cx = Context::root("request", Budget::new(ms(10)));
            let canceller = {
                let cx = cx.clone();
                async move {
                    sleep(ms(10)).await;
                    cx.cancel(Cause::ClientCancelled);
                }
            };
            let run = cx.run(pending::<()>());
            let stopped = if cancel_first {
                let canceller = tokio::spawn(canceller);
                yield_now().await;
                let stopped = run.await.unwrap_err();
                canceller.await.unwrap();
                stopped
            } else {
                let run = tokio::spawn(run);
                yield_now().await;
                canceller.await;
                run.await.unwrap().unwrap_err()
            };
            assert_eq!(owner(&stopped), (Cause::DeadlineExceeded, "request"));
            assert_eq!(stopped.elapsed(), ms(10));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_on_the_instant_of_a_childs_own_limit_or_of_a_reserve_is_that_limit() {
    for _ in 0..REPEATED {
        let cx = Context::root("request", Budget::new(ms(100)));
        let own = scoped!(Millis<10>, "own", { await_!(pending::<Forever>()) });
        let reserved = scoped!(Millis<14>, "reserved".reserve(4), {
            await_!(pending::<Forever>())
        });
        let (own, reserved) = (tokio::spawn(cx.run(own)), tokio::spawn(cx.run(reserved)));
        // The scopes' clocks start with their first poll.
        yield_now().await;
        sleep(ms(10)).await;
        cx.cancel(Cause::ClientCancelled);
        for (task, name) in [(own, "own"), (reserved, "reserved")] {
            let stopped = task.await.unwrap().unwrap().unwrap_err();
            assert_eq!(owner(&stopped), (Cause::DependencyTimeout, name));
            assert_eq!(stopped.elapsed(), ms(10));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_made_under_a_cancelled_context_is_cancelled() {
    let cx = Context::root("request", Budget::new(ms(100)));
    cx.cancel(Cause::Overload);
    let child = cx.child(ms(50)).child(ms(50));
    assert_eq!(child.cause(), Some(Cause::Overload));
    let stopped = child.run(ready(1)).await.unwrap_err();
    assert_eq!(stopped.cause(), Cause::Overload);
    assert!(!child.cancel(Cause::Shutdown));
}

#[tokio::test(start_paused = true)]
async fn the_order_of_events_decides_not_the_order_of_notice() {
    for (cancel_at, expected) in [
        (9, Cause::ClientCancelled),
        (10, Cause::DeadlineExceeded),
        (11, Cause::DeadlineExceeded),
    ] {
        let cx = Context::root("request", Budget::new(ms(10)));
        let mut run = pin!(cx.run(async {
            // Busy past both: nothing is noticed before 20 ms.
            yield_now().await;
            tokio::time::advance(ms(20)).await;
            pending::<()>().await;
        }));
        assert!(poll_here(run.as_mut()).await.is_pending());
        tokio::time::advance(ms(cancel_at)).await;
        cx.cancel(Cause::ClientCancelled);
        assert_eq!(run.await.unwrap_err().cause(), expected, "at {cancel_at}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_of_many_cancels_wins_for_everyone() {
    for first in 0..REPEATED {
        let cx = Context::root("request", Budget::new(ms(100)));
        let causes = [Cause::UserCancelled, Cause::Shutdown, Cause::Superseded];
        let tasks: Vec<_> = (0..4)
            .map(|_| tokio::spawn(cx.run(pending::<()>())))
            .collect();
        yield_now().await;
        assert!(cx.cancel(causes[first % 3]));
        assert!(!cx.cancel(causes[(first + 1) % 3]));
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap_err().cause(), causes[first % 3]);
        }
        assert_eq!(cx.cause(), Some(causes[first % 3]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_in_the_reserve_comes_after_the_deadline_of_work() {
    let cx = Context::root("request", Budget::new(ms(100)).reserve(ms(20)));
    let mut run = pin!(cx.run(pending::<()>()));
    assert!(poll_here(run.as_mut()).await.is_pending());
    tokio::time::advance(ms(81)).await;
    cx.cancel(Cause::ClientCancelled);
    let stopped = run.await.unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.elapsed(), ms(81));
}

#[tokio::test(start_paused = true)]
async fn a_context_and_its_scope_say_the_same() {
    let outcome: Result<(Option<Cause>, Stopped), Stopped> = scoped!(Millis<900>, "outer", {
        let (send, receive) = tokio::sync::oneshot::channel();
        let inner = scoped!(Millis<50>, "inner", {
            let _ = send.send(Context::current());
            await_!(pending::<Forever>())
        });
        let stopped = await_!(inner).unwrap_err();
        let cx = receive.await.unwrap();
        let checked = cx.check().unwrap_err();
        assert_eq!(owner(&checked), (Cause::DependencyTimeout, "inner"));
        Ok((cx.cause(), stopped))
    })
    .await;
    let (cause, stopped) = outcome.unwrap();
    assert_eq!(cause, Some(stopped.cause()));
    assert_eq!(owner(&stopped), (Cause::DependencyTimeout, "inner"));
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_another_request_is_named_as_its_own() {
    // Polled under a request that ends earlier.
    let first = Context::root("first", Budget::new(ms(50)));
    let second = Context::root("second", Budget::new(ms(500)));
    let inner = second.enter(|| scoped!(Unbudgeted, "work", { await_!(pending::<Forever>()) }));
    let outcome = first.run(async { inner.await.unwrap_err() }).await.unwrap();
    assert_eq!(owner(&outcome), (Cause::DeadlineExceeded, "first"));
    assert_eq!(outcome.elapsed(), ms(50));

    // The same by hand.
    let first = Context::root("first", Budget::new(ms(50)));
    let second = Context::root("second", Budget::new(ms(500)));
    let run = second.run(pending::<()>());
    let outcome = first.run(async { run.await.unwrap_err() }).await.unwrap();
    assert_eq!(owner(&outcome), (Cause::DeadlineExceeded, "first"));

    // The same as an explicit parent, and one level further in.
    let first = Context::root("first", Budget::new(ms(50)));
    let second = Context::root("second", Budget::new(ms(500)));
    let work = scoped_under!(second, Unbudgeted, "work", {
        scoped!(Unbudgeted, "deeper", { await_!(pending::<Forever>()) }).await
    });
    let outcome = first.run(async { work.await.unwrap_err() }).await.unwrap();
    assert_eq!(owner(&outcome), (Cause::DeadlineExceeded, "first"));
    assert_eq!(outcome.operation(), "deeper");

    // And the other way round.
    let first = Context::root("first", Budget::new(ms(500)));
    let second = Context::root("second", Budget::new(ms(50)));
    let work = scoped_under!(second, Unbudgeted, "work", {
        await_!(pending::<Forever>())
    });
    let outcome = first.run(async { work.await.unwrap_err() }).await.unwrap();
    assert_eq!(owner(&outcome), (Cause::DeadlineExceeded, "second"));
}

#[tokio::test(start_paused = true)]
async fn of_two_cancelled_requests_the_earlier_one_counts() {
    for (first_cancel, second_cancel, expected) in [
        (10, 20, Cause::ClientCancelled),
        (20, 10, Cause::UserCancelled),
    ] {
        let first = Context::root("first", Budget::new(ms(500)));
        let second = Context::root("second", Budget::new(ms(500)));
        let (seen, mut see) = tokio::sync::mpsc::unbounded_channel();
        let work = second.enter(|| {
            scoped!(Unbudgeted, "work", {
                yield_now().await;
                // What a checkpoint says once both are cancelled.
                let _ = seen.send(
                    common::rt::Pace::new()
                        .checkpoint()
                        .map(|stopped| stopped.cause()),
                );
                await_!(pending::<Forever>())
            })
        });
        let mut run = pin!(first.run(work));
        assert!(poll_here(run.as_mut()).await.is_pending());
        for at in [10, 20] {
            tokio::time::advance(ms(10)).await;
            if first_cancel == at {
                first.cancel(Cause::ClientCancelled);
            }
            if second_cancel == at {
                second.cancel(Cause::UserCancelled);
            }
        }
        let _ = poll_here(run.as_mut()).await;
        assert_eq!(see.try_recv().unwrap(), Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_of_another_request_starts_under_a_cancelled_one() {
    let first = Context::root("first", Budget::new(ms(500)));
    let second = Context::root("second", Budget::new(ms(500)));
    let mut run = pin!(first.run(async {
        yield_now().await;
        let work = second.enter(|| scoped!(Unbudgeted, "work", { Ok::<_, Stopped>(()) }));
        work.await
    }));
    assert!(poll_here(run.as_mut()).await.is_pending());
    first.cancel(Cause::ClientCancelled);
    let stopped = run.await.unwrap().unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::ClientCancelled, Phase::Start)
    );
}

#[tokio::test(start_paused = true)]
async fn who_is_dropped_from_outside_records_why() {
    let outcomes = |cx: &Context| -> Vec<Outcome> {
        cx.report()
            .unwrap()
            .scopes
            .iter()
            .map(|scope| scope.outcome)
            .collect()
    };
    let root = || {
        Context::builder("request")
            .budget(Budget::new(ms(100)))
            .report(true)
            .build()
    };
    // Nothing known.
    let cx = root();
    {
        let mut run = pin!(cx.run(pending::<()>()));
        assert!(poll_here(run.as_mut()).await.is_pending());
    }
    assert_eq!(outcomes(&cx), [Outcome::Stopped(Cause::Abandoned)]);
    // Cancelled before.
    let cx = root();
    {
        let mut run = pin!(cx.run(pending::<()>()));
        assert!(poll_here(run.as_mut()).await.is_pending());
        cx.cancel(Cause::Shutdown);
    }
    assert_eq!(outcomes(&cx), [Outcome::Stopped(Cause::Shutdown)]);
    // Past its limit, and cancelled after that.
    let cx = root();
    {
        let mut run = pin!(cx.run(pending::<()>()));
        assert!(poll_here(run.as_mut()).await.is_pending());
        tokio::time::advance(ms(100)).await;
        cx.cancel(Cause::Shutdown);
    }
    assert_eq!(outcomes(&cx), [Outcome::Stopped(Cause::DeadlineExceeded)]);
    // Dropped by a scope that is stopped, which knows why.
    let (cx, other) = (root(), root());
    let mut inner = Box::pin(other.run(pending::<()>()));
    assert!(poll_here(inner.as_mut()).await.is_pending());
    let outer: Result<(), Stopped> = cx
        .run(scoped!(Millis<30>, "outer", {
            let mut inner = inner;
            let own = scoped!(Unbudgeted, "inner", { await_!(pending::<Forever>()) });
            let mut own = Box::pin(own);
            let _ = poll_here(inner.as_mut()).await;
            let _ = poll_here(own.as_mut()).await;
            await_!(pending::<Forever>())
        }))
        .await
        .unwrap();
    assert_eq!(outer.unwrap_err().cause(), Cause::DependencyTimeout);
    assert_eq!(
        outcomes(&cx),
        [
            Outcome::Completed,
            Outcome::Stopped(Cause::DependencyTimeout),
            Outcome::Stopped(Cause::DeadlineExceeded),
        ]
    );
    assert_eq!(
        outcomes(&other),
        [Outcome::Stopped(Cause::DeadlineExceeded)]
    );
    // Never polled: it never was a scope.
    let cx = root();
    drop(cx.run(pending::<()>()));
    assert_eq!(outcomes(&cx), []);
}

#[tokio::test(start_paused = true)]
async fn a_child_dropped_with_its_cancelled_parent_has_the_parents_cause() {
    let cx = Context::builder("request")
        .budget(Budget::new(ms(100)))
        .report(true)
        .build();
    let (send, receive) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(cx.run(scoped!(Unbudgeted, "outer", {
        let mut inner = Box::pin(scoped!(Unbudgeted, "inner", {
            await_!(pending::<Forever>())
        }));
        // The inner scope is running when the outer one gets a context of its own.
        assert!(poll_here(inner.as_mut()).await.is_pending());
        let _ = send.send(Context::current());
        await_!(pending::<Forever>())
    })));
    let own = receive.await.unwrap();
    sleep(ms(5)).await;
    own.cancel(Cause::Superseded);
    let stopped = task.await.unwrap().unwrap().unwrap_err();
    assert_eq!(stopped.cause(), Cause::Superseded);
    let outcomes: Vec<_> = cx
        .report()
        .unwrap()
        .scopes
        .iter()
        .map(|scope| (scope.operation, scope.outcome))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("request", Outcome::Completed),
            ("outer", Outcome::Stopped(Cause::Superseded)),
            ("inner", Outcome::Stopped(Cause::Superseded)),
        ]
    );
    assert_eq!(cx.cause(), None);
}

#[tokio::test(start_paused = true)]
async fn three_ways_to_end_one_call_are_three_causes() {
    let call = || async {
        scoped!(Millis<50>, "call", { await_!(pending::<Forever>()) })
            .await
            .unwrap_err()
            .cause()
    };
    let slow = Context::root("request", Budget::new(ms(500)));
    assert_eq!(slow.run(call()).await.unwrap(), Cause::DependencyTimeout);
    let short = Context::root("request", Budget::new(ms(20)));
    assert_eq!(short.run(call()).await.unwrap(), Cause::DeadlineExceeded);
    let left = Context::root("request", Budget::new(ms(500)));
    let task = tokio::spawn(left.run(call()));
    sleep(ms(10)).await;
    left.cancel(Cause::ClientCancelled);
    assert_eq!(task.await.unwrap().unwrap(), Cause::ClientCancelled);
}

#[tokio::test(start_paused = true)]
async fn an_inner_timeout_is_never_taken_for_an_outer_one() {
    // The same function inside itself: the operations are the same object.
    fn deep(levels: u8) -> std::pin::Pin<Box<dyn Future<Output = Result<u8, Stopped>>>> {
        Box::pin(scoped!(Millis<50>, "deep", {
            if levels == 0 {
                await_!(pending::<()>());
            }
            sleep(ms(10)).await;
            await_!(deep(levels - 1))
        }))
    }
    let stopped = deep(2).await.unwrap_err();
    // The outermost one's 50 ms end first.
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.elapsed(), ms(30));

    let outcome: Result<(Cause, Cause), Stopped> = scoped!(Millis<900>, "outer", {
        let inner = timeout(ms(10), pending::<()>()).await.unwrap_err();
        let outer = timeout(ms(30), async {
            timeout(ms(90), pending::<()>()).await.unwrap_err()
        })
        .await
        .unwrap();
        Ok((inner.cause(), outer.cause()))
    })
    .await;
    assert_eq!(
        outcome.unwrap(),
        (Cause::DependencyTimeout, Cause::DeadlineExceeded)
    );
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_ready_is_a_value_even_when_late() {
    let cx = Context::builder("request")
        .budget(Budget::new(ms(10)))
        .report(true)
        .build();
    let value = cx
        .run(async {
            yield_now().await;
            tokio::time::advance(ms(25)).await;
            7
        })
        .await;
    // `advance` yields, so the scope sees the stop and polls the body once more.
    assert_eq!(value.unwrap(), 7);
    assert_eq!(
        cx.report().unwrap().scopes[0].outcome,
        Outcome::Late(ms(15))
    );
    let start = Instant::now();
    let cx = Context::root("request", Budget::new(ms(10)));
    let value = cx.run(sleep(ms(10))).await;
    assert!(value.is_ok());
    assert_eq!(start.elapsed(), ms(10));
}

#[tokio::test(start_paused = true)]
async fn a_business_error_at_the_limit_is_that_error() {
    let outcome: Result<Result<(), &str>, Stopped> = Context::root("r", Budget::new(ms(10)))
        .run(async {
            sleep(ms(10)).await;
            Err("declined")
        })
        .await;
    assert_eq!(outcome.unwrap(), Err("declined"));
}

#[tokio::test(start_paused = true)]
async fn elapsed_and_budget_are_those_of_the_stopped_scope() {
    let outcome: Result<Stopped, Stopped> = scoped!(Millis<100>, "outer", {
        sleep(ms(30)).await;
        let inner = scoped!(Unbudgeted, "inner", { await_!(pending::<Forever>()) });
        Ok(await_!(inner).unwrap_err())
    })
    .await;
    let stopped = outcome.unwrap();
    assert_eq!(stopped.elapsed(), ms(70));
    assert_eq!(stopped.budget(), Some(ms(70)));
    assert!(stopped.location().file().ends_with("causes.rs"));
}

#[tokio::test(start_paused = true)]
async fn no_limit_and_a_cancel() {
    let cx = Context::root("job", Budget::inherited());
    assert_eq!((cx.remaining(), cx.deadline()), (None, None));
    let task = tokio::spawn(cx.run(pending::<()>()));
    sleep(Duration::from_secs(1_000_000)).await;
    assert!(!task.is_finished());
    cx.cancel(Cause::Shutdown);
    let stopped = task.await.unwrap().unwrap_err();
    assert_eq!((stopped.cause(), stopped.budget()), (Cause::Shutdown, None));
    assert_eq!(ready(1).await, 1);
}

/// What a scope runs under its own context by hand is a part of it: one end, one word, whoever notices it first.
#[tokio::test(start_paused = true)]
async fn what_a_scope_runs_under_its_own_context_ends_for_its_cause() {
    let request = Context::root("request", Budget::new(ms(1_000)));
    let by_hand = request.enter(|| {
        scoped!(Millis<100>, "child", {
            let cx = Context::current();
            let ended: Result<(), Stopped> = await_!(cx.run(pending()));
            let stopped = ended.unwrap_err();
            assert_eq!(stopped.cause(), Cause::DependencyTimeout);
            assert_eq!(stopped.limited_by().operation(), "child");
            Err::<(), Stopped>(stopped)
        })
    });
    let stopped = request.run(by_hand).await.unwrap().unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);

    // The request's own end stays the request's.
    let short = Context::root("request", Budget::new(ms(50)));
    let by_hand = short.enter(|| {
        scoped!(Millis<100>, "child", {
            let cx = Context::current();
            await_!(cx.run(pending::<()>()))
        })
    });
    let stopped = short.run(by_hand).await.and_then(|own| own).unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.limited_by().operation(), "request");
}

/// A context made by hand that nothing is around begins on a shorter way than one that is polled by another request.
#[tokio::test(start_paused = true)]
async fn a_context_by_hand_ends_alike_whatever_is_around_it() {
    type Made = (&'static str, fn() -> Context, u64, Result<(), Cause>);
    fn of(budget: Budget) -> Context {
        Context::root("made", budget)
    }
    let made: [Made; 8] = [
        ("none", || of(Budget::inherited()), 30, Ok(())),
        ("fits", || of(Budget::new(ms(50))), 30, Ok(())),
        (
            "short",
            || of(Budget::new(ms(20))),
            20,
            Err(Cause::DeadlineExceeded),
        ),
        // Work ends 4 before the end, and a quarter of that later.
        (
            "reserve",
            || of(Budget::new(ms(20)).reserve(ms(4))),
            17,
            Err(Cause::DeadlineExceeded),
        ),
        (
            "child",
            || of(Budget::new(ms(50))).child(ms(20)),
            20,
            Err(Cause::DependencyTimeout),
        ),
        (
            "less than it needs",
            || of(Budget::new(ms(20)).min(ms(21))),
            0,
            Err(Cause::LocalBudgetRejected),
        ),
        (
            "over",
            || {
                let now = deadline_runtime::Deadline::now();
                Context::builder("made").deadline(now).build()
            },
            0,
            Err(Cause::DeadlineExceeded),
        ),
        (
            "cancelled",
            || {
                let cx = of(Budget::new(ms(50)));
                cx.cancel(Cause::Shutdown);
                cx
            },
            0,
            Err(Cause::Shutdown),
        ),
    ];
    for (name, make, after, outcome) in made {
        for around in [false, true] {
            let start = Instant::now();
            let cx = make();
            let work = cx.run(sleep(ms(30)));
            let ended = if around {
                let unlimited = Context::root("around", Budget::inherited());
                unlimited.run(work).await.unwrap()
            } else {
                work.await
            };
            let ended = ended.map_err(|stopped| {
                assert_ne!(stopped.limited_by().operation(), "around");
                stopped.cause()
            });
            assert_eq!(
                (ended, start.elapsed()),
                (outcome, ms(after)),
                "{name} {around}"
            );
        }
    }
}
