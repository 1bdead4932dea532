//! Where the context goes: spawned tasks, sets, channels, other wakers, other requests, explicit parents.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;

use common::{Woken, ms, poll, poll_here};
use deadline_runtime::{Budget, Cause, Context, Millis, Phase, Stopped, Unbudgeted, timeout};
use futures::FutureExt as _;
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep};

type Forever = Result<(), Stopped>;

fn work() -> impl Future<Output = Forever> + Send {
    scoped!(Unbudgeted, "work", { await_!(pending::<Forever>()) })
}

fn ends(outcome: Forever) -> (Cause, &'static str, std::time::Duration) {
    let stopped = outcome.unwrap_err();
    (
        stopped.cause(),
        stopped.limited_by().operation(),
        stopped.elapsed(),
    )
}

#[tokio::test(start_paused = true)]
async fn spawned_set_sent_and_joined_work_keeps_the_deadline_it_was_made_under() {
    let start = Instant::now();
    let outcome: Result<(), Stopped> = scoped!(Millis<200>, "outer".reserve(100), {
        sleep(ms(20)).await;
        let spawned = tokio::spawn(work());
        let mut set = JoinSet::new();
        set.spawn(work());
        let (send, mut receive) =
            tokio::sync::mpsc::channel::<Pin<Box<dyn Future<Output = Forever> + Send>>>(1);
        let worker = tokio::spawn(async move { receive.recv().await.unwrap().await });
        send.send(Box::pin(work())).await.unwrap();
        let expected = (Cause::DeadlineExceeded, "outer", ms(80));
        let (spawned, set, sent) = tokio::join!(spawned, set.join_next(), worker);
        assert_eq!(ends(spawned.unwrap()), expected);
        assert_eq!(ends(set.unwrap().unwrap()), expected);
        assert_eq!(ends(sent.unwrap()), expected);
        Ok(())
    })
    .await;
    outcome.unwrap();
    assert_eq!(start.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn join_select_and_many_wakers_keep_it_in_the_task() {
    let outcome: Result<(), Stopped> = scoped!(Millis<200>, "outer".reserve(100), {
        let expected = (Cause::DeadlineExceeded, "outer", ms(100));
        let few = futures::future::join_all((0..3).map(|_| work()));
        let many = futures::future::join_all((0..40).map(|_| work()));
        let set: FuturesUnordered<_> = (0..40).map(|_| work()).collect();
        let selected = async {
            tokio::select! {
                outcome = work() => outcome,
                () = sleep(ms(900)) => Ok(()),
            }
        };
        let (few, many, set, selected) = tokio::join!(few, many, set.collect::<Vec<_>>(), selected);
        for outcome in few.into_iter().chain(many).chain(set).chain([selected]) {
            assert_eq!(ends(outcome), expected);
        }
        Ok(())
    })
    .await;
    outcome.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_every_waker() {
    let cx = Context::root("request", Budget::inherited());
    let ended = Arc::new(AtomicUsize::new(0));
    let count = ended.clone();
    let task = tokio::spawn(cx.run(async move {
        let own = |outcome: Forever| {
            assert_eq!(outcome.unwrap_err().cause(), Cause::ClientCancelled);
            count.fetch_add(1, Relaxed);
        };
        let set: FuturesUnordered<_> = (0..40).map(|_| work().map(own)).collect();
        let inside = async {
            let mut set: FuturesUnordered<_> = (0..2)
                .map(|_| scoped!(Unbudgeted, "deeper", { await_!(work()) }).map(own))
                .collect();
            while set.next().await.is_some() {}
        };
        tokio::join!(
            set.collect::<Vec<_>>(),
            inside,
            work().map(own),
            tokio::spawn(work()).map(|outcome| own(outcome.unwrap())),
        );
    }));
    sleep(ms(10)).await;
    cx.cancel(Cause::ClientCancelled);
    assert!(task.await.unwrap().is_ok());
    assert_eq!(ended.load(Relaxed), 44);
}

#[tokio::test(start_paused = true)]
async fn one_request_the_polling_context_decides() {
    // Created in a narrow scope, awaited in a wide one.
    let outcome: Result<(), Stopped> = scoped!(Millis<200>, "wide", {
        let narrow: Result<Pin<Box<dyn Future<Output = Forever> + Send>>, Stopped> =
            scoped!(Millis<50>, "narrow", {
                let made: Pin<Box<dyn Future<Output = Forever> + Send>> = Box::pin(work());
                Ok(made)
            })
            .await;
        let made = narrow.unwrap();
        sleep(ms(60)).await;
        assert_eq!(ends(made.await), (Cause::DeadlineExceeded, "wide", ms(140)));
        Ok(())
    })
    .await;
    outcome.unwrap();
    // The other way round: the narrow one ends it.
    let outcome: Result<(), Stopped> = scoped!(Millis<200>, "wide", {
        let made = work();
        let narrow: Forever = scoped!(Millis<50>, "narrow".reserve(20), {
            assert_eq!(
                ends(made.await),
                (Cause::DeadlineExceeded, "narrow", ms(30))
            );
            Ok(())
        })
        .await;
        narrow
    })
    .await;
    outcome.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_an_ended_scope_left_behind_keeps_its_deadline_but_is_not_cancelled() {
    let outcome: Result<tokio::task::JoinHandle<Forever>, Stopped> =
        scoped!(Millis<100>, "outer", {
            let _ = Context::current();
            Ok(tokio::spawn(work()))
        })
        .await;
    let task = outcome.unwrap();
    sleep(ms(50)).await;
    assert!(!task.is_finished());
    assert_eq!(
        ends(task.await.unwrap()),
        (Cause::DeadlineExceeded, "outer", ms(100))
    );
}

#[tokio::test(start_paused = true)]
async fn two_requests_both_bind() {
    for (first, second, cancel_first, expected) in [
        (50, 500, false, Cause::DeadlineExceeded),
        (500, 50, false, Cause::DeadlineExceeded),
        (500, 500, true, Cause::ClientCancelled),
    ] {
        for foreign_waker in [false, true] {
            let one = Context::root("one", Budget::new(ms(first)));
            let other = Context::root("other", Budget::new(ms(second)));
            let made = other.enter(work);
            let task = tokio::spawn(one.run(async move {
                if foreign_waker {
                    let mut set: FuturesUnordered<_> = [made].into_iter().collect();
                    set.next().await.unwrap()
                } else {
                    made.await
                }
            }));
            sleep(ms(50)).await;
            if cancel_first {
                one.cancel(Cause::ClientCancelled);
            }
            let stopped = task.await.unwrap().unwrap().unwrap_err();
            assert_eq!(stopped.cause(), expected);
            assert_eq!(stopped.operation(), "work");
            assert_eq!(stopped.elapsed(), ms(50));
        }
        // The captured request's cancel.
        let one = Context::root("one", Budget::new(ms(500)));
        let other = Context::root("other", Budget::new(ms(500)));
        let made = other.enter(work);
        let task = tokio::spawn(one.run(made));
        sleep(ms(5)).await;
        other.cancel(Cause::Shutdown);
        assert_eq!(
            task.await.unwrap().unwrap().unwrap_err().cause(),
            Cause::Shutdown
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_running_scope_that_moves_into_another_request_is_bound_by_its_cancel() {
    for captured in [true, false] {
        let one = Context::root("one", Budget::new(ms(500)));
        let other = Context::root("other", Budget::new(ms(500)));
        let make = || {
            scoped!(Unbudgeted, "work", {
                loop {
                    if let Some(stopped) = common::rt::Pace::new().checkpoint() {
                        return Err::<(), _>(stopped);
                    }
                    yield_now().await;
                }
            })
        };
        let made = if captured { other.enter(make) } else { make() };
        let mut made = Box::pin(made);
        // Started outside, where nobody polls it.
        assert!(poll_here(made.as_mut()).await.is_pending());
        let task = tokio::spawn(one.run(made));
        yield_now().await;
        one.cancel(Cause::ClientCancelled);
        let stopped = task.await.unwrap().unwrap().unwrap_err();
        assert_eq!(stopped.cause(), Cause::ClientCancelled);
        assert_eq!(
            (stopped.operation(), stopped.phase()),
            ("work", Phase::Compute)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_explicit_parent_binds_beside_the_polling_scope() {
    let request = Context::root("request", Budget::new(ms(500)));
    // Its own deadline.
    let narrow = request.child(ms(30));
    let outcome = request
        .run(async {
            scoped_under!(narrow, Unbudgeted, "work", {
                await_!(pending::<Forever>())
            })
            .await
        })
        .await
        .unwrap();
    assert_eq!(ends(outcome), (Cause::DeadlineExceeded, "child", ms(30)));
    // Its own cancel, in the polling request and elsewhere.
    let explicit = request.child(ms(300));
    let task = tokio::spawn(request.run(scoped_under!(explicit, Unbudgeted, "work", {
        await_!(pending::<Forever>())
    })));
    sleep(ms(10)).await;
    explicit.cancel(Cause::Superseded);
    assert_eq!(ends(task.await.unwrap().unwrap()).0, Cause::Superseded);
    assert_eq!(request.cause(), None);
    // The cancel of a polling scope of the same request, seen by a loop that never waits for it.
    let explicit = request.child(ms(300));
    let polling = request.child(ms(300));
    let mut run = pin!(polling.run(scoped_under!(explicit, Unbudgeted, "work", {
        loop {
            if let Some(stopped) = common::rt::Pace::new().checkpoint() {
                return Err::<(), _>(stopped);
            }
            yield_now().await;
        }
    })));
    assert!(poll_here(run.as_mut()).await.is_pending());
    polling.cancel(Cause::ClientCancelled);
    let stopped = run.await.unwrap().unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::ClientCancelled, Phase::Compute)
    );
    assert_eq!(explicit.cause(), None);
}

#[tokio::test(start_paused = true)]
async fn the_current_context_is_the_scopes_own() {
    let outcome: Result<(), Stopped> = scoped!(Millis<200>, "outer", {
        let (send, receive) = tokio::sync::oneshot::channel();
        let sibling = tokio::spawn(work());
        let inner = tokio::spawn(scoped!(Unbudgeted, "inner", {
            let cx = Context::current();
            assert_eq!(cx.remaining(), Some(ms(200)));
            let _ = send.send(cx);
            let child = tokio::spawn(work());
            let (own, child) = tokio::join!(work(), child);
            own.and(child.unwrap())
        }));
        let cx = receive.await.unwrap();
        sleep(ms(10)).await;
        cx.cancel(Cause::Superseded);
        assert_eq!(ends(inner.await.unwrap()).0, Cause::Superseded);
        assert!(!sibling.is_finished());
        assert_eq!(Context::current().cause(), None);
        sibling.abort();
        Ok(())
    })
    .await;
    outcome.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_context_asked_for_late_still_stops_what_already_runs() {
    let outcome: Result<(), Stopped> = scoped!(Millis<200>, "outer", {
        let (send, receive) = tokio::sync::oneshot::channel();
        let inner = tokio::spawn(scoped!(Unbudgeted, "inner", {
            let mut spun = Box::pin(scoped!(Unbudgeted, "spun", {
                loop {
                    if let Some(stopped) = common::rt::Pace::new().checkpoint() {
                        return Err::<(), _>(stopped);
                    }
                    sleep(ms(1)).await;
                }
            }));
            assert!(poll_here(spun.as_mut()).await.is_pending());
            let _ = send.send(Context::current());
            let stopped = spun.await.unwrap_err();
            assert_eq!(stopped.phase(), Phase::Compute);
            assert_eq!(stopped.cause(), Cause::Superseded);
            // Came back from inside, in time to be used.
            Ok::<_, Stopped>(stopped.operation())
        }));
        let cx = receive.await.unwrap();
        sleep(ms(10)).await;
        cx.cancel(Cause::Superseded);
        assert_eq!(inner.await.unwrap().unwrap(), "spun");
        Ok(())
    })
    .await;
    outcome.unwrap();
}

#[tokio::test(start_paused = true)]
async fn none_lets_go_of_everything() {
    let outcome: Result<(), Stopped> = scoped!(Millis<50>, "outer".reserve(20), {
        assert!(!Context::current().is_none());
        let seen = Context::none().enter(|| {
            let cx = Context::current();
            (
                cx.is_none(),
                cx.remaining(),
                cx.cause(),
                cx.report().is_some(),
            )
        });
        assert_eq!(seen, (true, None, None, false));
        let shared = Context::none().enter(|| {
            tokio::spawn(scoped!(Millis<100>, "connect", {
                await_!(pending::<Forever>())
            }))
        });
        // It is an outermost scope: its budget is a deadline, nobody's dependency.
        let stopped = Context::none()
            .run(async { shared.await.unwrap().unwrap_err() })
            .await;
        // Held only by the outer scope's own limit here.
        assert!(stopped.is_err() || stopped.is_ok());
        Ok(())
    })
    .await;
    // The outer scope ended at its own limit, without the shared work.
    assert_eq!(ends(outcome).0, Cause::DeadlineExceeded);

    let shared = Context::root("request", Budget::new(ms(10))).enter(|| {
        Context::none().enter(|| {
            tokio::spawn(scoped!(Millis<100>, "connect", {
                await_!(pending::<Forever>())
            }))
        })
    });
    assert_eq!(
        ends(shared.await.unwrap()),
        (Cause::DeadlineExceeded, "connect", ms(100))
    );
}

#[tokio::test(start_paused = true)]
async fn no_context_as_a_parent_and_as_a_runner() {
    let request = Context::root("request", Budget::new(ms(30)));
    let outcome = request
        .run(async {
            let none = Context::none();
            let explicit = scoped_under!(none, Millis<100>, "work", {
                assert_eq!(Context::current().remaining(), Some(ms(100)));
                Ok::<_, Stopped>(Context::current().request_id().is_none())
            });
            assert!(explicit.await.unwrap());
            none.run(async { Context::current().remaining() }).await
        })
        .await
        .unwrap();
    assert_eq!(outcome.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn detached_work_outlives_its_request_and_keeps_its_id() {
    let request = Context::builder("request")
        .budget(Budget::new(ms(30)))
        .request_id("r-1")
        .build();
    let outcome = request
        .run(async {
            let cx = Context::current();
            let handle = cx.detach("audit", ms(500), || {
                scoped!(Unbudgeted, "write", {
                    sleep(ms(100)).await;
                    let cx = Context::current();
                    Ok::<_, Stopped>((cx.request_id(), cx.remaining()))
                })
            });
            handle
        })
        .await
        .unwrap();
    request.cancel(Cause::ClientCancelled);
    let (id, left) = outcome.await.unwrap().unwrap().unwrap();
    assert_eq!((id.as_deref(), left), (Some("r-1"), Some(ms(400))));

    let bounded = Context::root("request", Budget::new(ms(30)))
        .detach("audit", ms(200), work)
        .await
        .unwrap();
    let stopped = bounded.unwrap().unwrap_err();
    assert_eq!(
        (
            stopped.cause(),
            stopped.limited_by().operation(),
            stopped.elapsed()
        ),
        (Cause::DeadlineExceeded, "audit", ms(200))
    );
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_changes_is_the_one_that_is_woken() {
    let cx = Context::root("request", Budget::new(ms(100)));
    let mut scope = Box::pin(cx.enter(work));
    let (first, one) = Woken::new();
    let (second, two) = Woken::new();
    assert!(poll(scope.as_mut(), &one).is_pending());
    assert!(poll(scope.as_mut(), &two).is_pending());
    cx.cancel(Cause::Shutdown);
    assert_eq!((first.times(), second.times()), (0, 1));
    // Delivered, given its hop, dropped.
    assert!(poll(scope.as_mut(), &two).is_pending());
    assert_eq!(second.times(), 2);
    match poll(scope.as_mut(), &two) {
        Poll::Ready(outcome) => assert_eq!(outcome.unwrap_err().cause(), Cause::Shutdown),
        Poll::Pending => panic!("not stopped"),
    }
    assert_eq!((first.times(), second.times()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_scope_that_moves_between_own_and_foreign_wakers_loses_no_wake_up() {
    for first_foreign in [true, false] {
        let start = Instant::now();
        let outcome: Result<(), Stopped> = scoped!(Millis<200>, "outer", {
            let mut inner = Box::pin(scoped!(Millis<100>, "inner", {
                await_!(pending::<Forever>())
            }));
            let (_, foreign) = Woken::new();
            if first_foreign {
                assert!(poll(inner.as_mut(), &foreign).is_pending());
            } else {
                assert!(poll_here(inner.as_mut()).await.is_pending());
                assert!(poll(inner.as_mut(), &foreign).is_pending());
            }
            sleep(ms(10)).await;
            inner.await
        })
        .await;
        assert_eq!(outcome.unwrap_err().cause(), Cause::DependencyTimeout);
        assert_eq!(start.elapsed(), ms(100));
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_cancel_of_a_context() {
    let request = Context::root("request", Budget::new(ms(100)).reserve(ms(40)));
    let start = Instant::now();
    assert_eq!(request.cancelled().await, Cause::DeadlineExceeded);
    assert_eq!(start.elapsed(), ms(60));
    assert_eq!(request.cancelled().await, Cause::DeadlineExceeded);

    let request = Context::root("request", Budget::inherited());
    let child = request.child(Budget::inherited());
    let (woken, waker) = Woken::new();
    let mut cancelled = pin!(child.cancelled());
    assert!(poll(cancelled.as_mut(), &waker).is_pending());
    assert!(poll(cancelled.as_mut(), &waker).is_pending());
    request.cancel(Cause::Overload);
    assert_eq!(woken.times(), 1);
    assert_eq!(
        poll(cancelled.as_mut(), &waker),
        Poll::Ready(Cause::Overload)
    );

    // Polled under another request, it is still about its own context.
    let other = Context::root("other", Budget::new(ms(10)));
    let quiet = Context::root("quiet", Budget::new(ms(50)));
    let mut cancelled = Box::pin(quiet.cancelled());
    let _ = other.run(poll_here(cancelled.as_mut())).await;
    sleep(ms(20)).await;
    assert!(poll_here(cancelled.as_mut()).await.is_pending());
    assert_eq!(cancelled.await, Cause::DeadlineExceeded);
    // And without any context it never comes.
    assert!(Context::none().cancelled().now_or_never().is_none());
    assert!(timeout(ms(5), Context::none().cancelled()).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_that_races_with_the_first_wait_is_never_lost() {
    for round in 0..3_000_u32 {
        let cx = Context::root("request", Budget::inherited());
        let canceller = {
            let cx = cx.clone();
            tokio::spawn(async move {
                for _ in 0..round % 60 {
                    std::hint::spin_loop();
                }
                cx.cancel(Cause::ClientCancelled)
            })
        };
        let ended = tokio::time::timeout(
            std::time::Duration::from_secs(10),
            tokio::spawn(cx.run(pending::<()>())),
        )
        .await
        .expect("the cancel was lost");
        assert_eq!(ended.unwrap().unwrap_err().cause(), Cause::ClientCancelled);
        canceller.await.unwrap();
    }
}
