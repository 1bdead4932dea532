//! Where one timer a task could leak or fall silent: other runtimes, none, nested loops, panics, drops, ending threads.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::cell::RefCell;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::task::Poll;
use std::time::{Duration, Instant};

use common::rt::{Holds, Scoped, Spec};
use common::{Woken, ms, poll, poll_here};
use deadline_runtime::{
    Budget, Cause, Context, Millis, Outcome, Stopped, Tracker, Unbudgeted, timeout,
};
use futures::FutureExt as _;
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, yield_now};

type Forever = Result<(), Stopped>;
type Boxed = Pin<Box<dyn Future<Output = Forever> + Send>>;

fn timed() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn short() -> Boxed {
    Box::pin(scoped!(Millis<40>, "short", {
        await_!(pending::<Forever>())
    }))
}

/// Ends at 40 ms and well before anybody loses patience.
fn ends(outcome: Forever, start: Instant) {
    assert_eq!(outcome.unwrap_err().cause(), Cause::DeadlineExceeded);
    assert!(start.elapsed() >= ms(40), "{:?}", start.elapsed());
    assert!(start.elapsed() < ms(5_000), "{:?}", start.elapsed());
}

fn begin(runtime: &Runtime, scope: &mut Boxed) {
    runtime.block_on(async { assert!(poll_here(scope.as_mut()).await.is_pending()) });
}

#[test]
fn moved_to_another_runtime() {
    let (first, second) = (timed(), timed());
    let start = Instant::now();
    let mut scope = short();
    begin(&first, &mut scope);
    ends(second.block_on(scope), start);
}

#[test]
fn moved_out_of_a_runtime_that_is_gone() {
    for spawned in [true, false] {
        let first = timed();
        let start = Instant::now();
        let mut scope = short();
        begin(&first, &mut scope);
        first.shutdown_background();
        let second = timed();
        let outcome = if spawned {
            second.block_on(async { tokio::spawn(scope).await.unwrap() })
        } else {
            second.block_on(scope)
        };
        ends(outcome, start);
    }
}

#[test]
fn moved_between_tokio_and_another_executor() {
    let runtime = timed();
    let start = Instant::now();
    let mut scope = short();
    begin(&runtime, &mut scope);
    ends(futures::executor::block_on(scope), start);

    let start = Instant::now();
    let mut scope = short();
    let (_, waker) = Woken::new();
    assert!(poll(scope.as_mut(), &waker).is_pending());
    ends(runtime.block_on(scope), start);
}

#[test]
fn polled_with_the_handle_of_a_runtime_that_shuts_down() {
    let runtime = timed();
    let handle = runtime.handle().clone();
    let _inside = handle.enter();
    let start = Instant::now();
    let mut scope = short();
    let (_, waker) = Woken::new();
    assert!(poll(scope.as_mut(), &waker).is_pending());
    runtime.shutdown_background();
    assert!(poll(scope.as_mut(), &waker).is_pending());
    ends(futures::executor::block_on(scope), start);
    // And what begins there.
    let start = Instant::now();
    ends(futures::executor::block_on(short()), start);
}

#[test]
fn without_a_runtime_and_without_time() {
    let start = Instant::now();
    ends(futures::executor::block_on(short()), start);
    let untimed = Builder::new_current_thread().build().unwrap();
    for _ in 0..3 {
        let start = Instant::now();
        ends(
            untimed.block_on(async { tokio::spawn(short()).await.unwrap() }),
            start,
        );
    }
    let start = Instant::now();
    ends(timed().block_on(short()), start);
}

#[test]
fn one_thread_serves_every_alarm_outside_tokio() {
    fn threads() -> usize {
        std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
    }
    let before = threads();
    let start = Instant::now();
    let mut all: FuturesUnordered<_> = (0..500).map(|_| short()).collect();
    futures::executor::block_on(async {
        assert!(all.next().now_or_never().is_none());
        assert!(threads() <= before + 12, "{} threads", threads());
        let mut stopped = 0;
        while let Some(outcome) = all.next().await {
            ends(outcome, start);
            stopped += 1;
        }
        assert_eq!(stopped, 500);
    });
}

#[test]
fn an_alarm_can_be_moved_earlier_and_later() {
    // Outside tokio: a long scope whose inner one is short, then gone.
    let start = Instant::now();
    let outcome: Result<Duration, Stopped> =
        futures::executor::block_on(scoped!(Millis<200>, "outer", {
            let inner = scoped!(Millis<30>, "inner", { await_!(pending::<Forever>()) });
            assert!(await_!(inner).is_err());
            let at = start.elapsed();
            let later = scoped!(Millis<60>, "later", { await_!(pending::<Forever>()) });
            assert!(await_!(later).is_err());
            Ok(at)
        }));
    assert!(outcome.unwrap() >= ms(30));
    assert!(start.elapsed() >= ms(90) && start.elapsed() < ms(5_000));
}

#[test]
fn block_on_inside_a_poll() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let outcome = runtime.block_on(async {
        tokio::spawn(scoped!(Millis<400>, "outer", {
            // The code that is waited for belongs to the scope, and its limits hold although the task cannot be woken.
            let start = Instant::now();
            let (left, inner) = tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    let left = Context::current().remaining();
                    (left, short().await)
                })
            });
            assert!(left.unwrap() <= ms(400));
            assert_eq!(inner.unwrap_err().cause(), Cause::DependencyTimeout);
            assert!(start.elapsed() < ms(390));
            // A runtime of its own; what is spawned there is not ours.
            let other = std::thread::spawn(timed).join().unwrap();
            let seen = tokio::task::block_in_place(|| {
                other.block_on(async {
                    let own = Context::current().is_none();
                    let spawned = tokio::spawn(async { Context::current().is_none() });
                    (own, spawned.await.unwrap())
                })
            });
            other.shutdown_background();
            assert_eq!(seen, (false, true));
            assert!(!Context::current().is_none());
            // Nothing of it is left behind: the scope still ends at its own limit.
            await_!(pending::<Forever>())
        }))
        .await
        .unwrap()
    });
    let stopped = outcome.unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert!(stopped.elapsed() < ms(5_000));
}

#[test]
fn a_hop_given_inside_block_on_is_not_waited_for() {
    // The outer scope is over when the inner loop returns; the inner one's yield woke only the loop.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let outcome = runtime.block_on(async {
        let scope = tokio::spawn(scoped!(Millis<30>, "outer", {
            tokio::task::block_in_place(|| {
                let inner = scoped!(Unbudgeted, "inner", { await_!(pending::<Forever>()) });
                let _ = tokio::runtime::Handle::current().block_on(inner);
            });
            pending::<Forever>().await
        }));
        tokio::time::timeout(ms(5_000), scope).await
    });
    let stopped = outcome.expect("it hung").unwrap().unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
}

#[tokio::test(start_paused = true)]
async fn a_local_set_inside_a_scope_leaks_nothing_to_its_tasks() {
    let (seen, mut see) = tokio::sync::mpsc::unbounded_channel();
    let local = LocalSet::new();
    // Unrelated work that happens to be driven by the scope.
    let unrelated = local.spawn_local(async move {
        let stopped = scoped!(Millis<300>, "unrelated", { await_!(pending::<Forever>()) })
            .await
            .unwrap_err();
        let _ = seen.send((Context::current().is_none(), stopped));
    });
    let outcome: Result<(), Stopped> = scoped!(Millis<100>, "outer", {
        assert!(!Context::current().is_none());
        local
            .run_until(async {
                // This part is the scope's own.
                assert_eq!(Context::current().remaining(), Some(ms(100)));
                pending::<()>().await
            })
            .await;
        Ok(())
    })
    .await;
    assert_eq!(outcome.unwrap_err().elapsed(), ms(100));
    drop(unrelated);
    assert!(see.try_recv().is_err());

    let (seen, mut see) = tokio::sync::mpsc::unbounded_channel();
    let local = LocalSet::new();
    local.spawn_local(async move {
        let outside = Context::current().is_none();
        let stopped = scoped!(Millis<30>, "unrelated", { await_!(pending::<Forever>()) })
            .await
            .unwrap_err();
        let _ = seen.send((outside, stopped));
    });
    let outcome: Result<(), Stopped> = scoped!(Millis<100>, "outer", {
        local.run_until(tokio::time::sleep(ms(60))).await;
        Ok(())
    })
    .await;
    outcome.unwrap();
    let (outside, stopped) = see.try_recv().unwrap();
    assert!(outside);
    assert_eq!(
        (stopped.cause(), stopped.elapsed()),
        (Cause::DeadlineExceeded, ms(30))
    );
    assert!(!format!("{stopped:?}").contains("outer"), "{stopped:?}");

    // Nor do the names of the scopes that drive it stand in the path of its checkpoints.
    let local = LocalSet::new();
    let task = local.spawn_local(scoped!(Millis<30>, "unrelated", {
        tokio::time::sleep(ms(30)).await;
        common::rt::Pace::new().checkpoint().map_or(Ok(()), Err)
    }));
    let outcome: Result<(), Stopped> = scoped!(Millis<100>, "outer", {
        local.run_until(tokio::time::sleep(ms(60))).await;
        Ok(())
    })
    .await;
    outcome.unwrap();
    let text = format!("{:?}", task.await.unwrap().unwrap_err());
    assert!(text.contains("path unrelated (at its limit)]"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_local_task_that_is_stopped_while_a_scope_drives_it() {
    // The request of the local task is cancelled; the driving scope is not concerned.
    let other = Context::root("other", Budget::inherited());
    let local = LocalSet::new();
    let task = local.spawn_local(other.run(pending::<()>()));
    let outcome: Result<Cause, Stopped> = scoped!(Millis<100>, "outer", {
        local
            .run_until(async {
                tokio::time::sleep(ms(10)).await;
                other.cancel(Cause::Superseded);
                let stopped = task.await.unwrap().unwrap_err();
                assert_eq!(Context::current().cause(), None);
                Ok(stopped.cause())
            })
            .await
    })
    .await;
    assert_eq!(outcome.unwrap(), Cause::Superseded);
}

#[tokio::test(start_paused = true)]
async fn a_panic_takes_its_frames_away_and_leaves_the_others() {
    let cx = Context::builder("request")
        .budget(Budget::new(ms(100)))
        .report(true)
        .build();
    let outcome: Result<(), Stopped> = cx
        .run(scoped!(Millis<50>, "outer", {
            let inner = scoped!(Unbudgeted, "inner", {
                yield_now().await;
                panic!("on purpose");
                #[allow(unreachable_code)]
                Ok::<(), Stopped>(())
            });
            let caught = AssertUnwindSafe(inner).catch_unwind().await;
            assert!(caught.is_err());
            // Still here, with the scope's own limit.
            assert_eq!(Context::current().remaining(), Some(ms(50)));
            await_!(pending::<Forever>())
        }))
        .await
        .unwrap();
    assert_eq!(outcome.unwrap_err().cause(), Cause::DependencyTimeout);
    assert!(Context::current().is_none());
    // The scope that panicked is in the report: it had its node back when it was dropped.
    let scopes = cx.report().unwrap().scopes;
    let inner = scopes
        .iter()
        .find(|scope| scope.operation == "inner")
        .unwrap();
    assert_eq!(inner.outcome, Outcome::Stopped(Cause::Abandoned));

    // In a destructor of the body, and in a fallback.
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "on purpose");
        }
    }
    let outcome: Result<(), Stopped> = scoped!(Millis<200>, "outer", {
        let inner = scoped!(Millis<10>, "inner", {
            let _bomb = Bomb;
            await_!(pending::<Forever>())
        });
        assert!(AssertUnwindSafe(inner).catch_unwind().await.is_err());
        let fallback = scoped_or!(Millis<10>, "inner", |_: Stopped| panic!("on purpose"), {
            await_!(pending::<()>())
        });
        assert!(AssertUnwindSafe(fallback).catch_unwind().await.is_err());
        let entered = catch_unwind(|| Context::none().enter(|| panic!("on purpose")));
        assert!(entered.is_err());
        assert_eq!(Context::current().remaining(), Some(ms(180)));
        Ok(())
    })
    .await;
    outcome.unwrap();
    assert!(Context::current().is_none());
}

/// Whoever waits for a request whose destructors panic does not wait for ever.
#[tokio::test(start_paused = true)]
async fn a_panic_in_a_destructor_leaves_nothing_counted() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "on purpose");
        }
    }
    /// Has not let go of its bomb when it is ready.
    struct Armed(#[allow(dead_code)] Bomb);
    impl Future for Armed {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
            drop(Context::current().spawn(|_| pending::<()>()));
            Poll::Ready(())
        }
    }
    let tracker = Tracker::new();
    let request = || {
        Context::builder("request")
            .tracker(&tracker)
            .budget(ms(100))
            .build()
    };
    let counted = || {
        let stats = tracker.stats();
        (stats.requests, stats.scopes)
    };

    // Dropped by somebody else.
    let mut work = Box::pin(request().run(async {
        drop(Context::current().spawn(|_| pending::<()>()));
        let _bomb = Bomb;
        pending::<()>().await
    }));
    assert!(poll_here(work.as_mut()).await.is_pending());
    assert_eq!(counted(), (1, 1));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(work))).is_err());
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(counted(), (0, 0));

    // Dropped because what it has spawned is joined first.
    let cx = request();
    let work = cx.run(async {
        static SCOPE: Spec<Millis<50>> = Spec::new("work");
        let ending = Holds::<()>::new().deadline_fall_back(|_| ());
        let work = Scoped::<_, Millis<50>, _>::ending(SCOPE.here(), Armed(Bomb), ending);
        assert!(AssertUnwindSafe(work).catch_unwind().await.is_err());
        tokio::time::sleep(ms(10)).await;
        counted()
    });
    assert_eq!(work.await.unwrap(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn dropped_inside_another_scopes_poll() {
    #[derive(Clone)]
    struct Tells(Arc<std::sync::Mutex<Vec<Option<Duration>>>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let seen = Context::current().remaining();
            self.0.lock().unwrap().push(seen);
        }
    }
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let one = Context::root("one", Budget::new(ms(500)));
    let other = Context::root("other", Budget::new(ms(900)));
    let tells = Tells(told.clone());
    let mut inner = Box::pin(one.run(async move {
        let _tells = tells;
        pending::<()>().await
    }));
    assert!(poll_here(inner.as_mut()).await.is_pending());
    let before = other
        .run(async {
            // Its destructors see its own context; afterwards the outer one is back.
            drop(inner);
            Context::current().remaining()
        })
        .await
        .unwrap();
    assert_eq!(before, Some(ms(900)));
    assert_eq!(*told.lock().unwrap(), [Some(ms(500))]);
}

#[test]
fn a_thread_that_is_ending() {
    thread_local! {
        static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
    }
    // A scope that runs, dropped when there is no place for frames any more. (Polling there is tokio's to refuse: with
    // its `test-util` even the clock is a thread-local.)
    struct Late(Option<Boxed>, mpsc::Sender<(bool, bool, u8)>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.take();
            let none = Context::current().is_none() && Context::none().enter(|| true);
            let made = scoped!(Millis<40>, "late", { Ok::<(), Stopped>(()) });
            drop(made);
            let entered = Context::none().enter(|| 7);
            let _ = self.1.send((
                none,
                common::rt::Pace::new().checkpoint().is_none(),
                entered,
            ));
        }
    }
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        // Used first, so destroyed last.
        LATE.with(|late| {
            let mut scope = short();
            let (_, waker) = Woken::new();
            assert!(poll(scope.as_mut(), &waker).is_pending());
            *late.borrow_mut() = Some(Late(Some(scope), send));
        });
    })
    .join()
    .unwrap();
    assert_eq!(receive.recv().unwrap(), (true, true, 7));
}

#[tokio::test(start_paused = true)]
async fn polled_after_its_end_it_stays_pending() {
    let (_, waker) = Woken::new();
    let mut value = Box::pin(scoped!(Millis<10>, "value", { Ok::<u8, Stopped>(1) }));
    assert!(poll(value.as_mut(), &waker).is_ready());
    assert!(poll(value.as_mut(), &waker).is_pending());
    let mut stopped = short();
    assert!(poll(stopped.as_mut(), &waker).is_pending());
    tokio::time::advance(ms(40)).await;
    assert!(poll(stopped.as_mut(), &waker).is_pending());
    assert!(poll(stopped.as_mut(), &waker).is_ready());
    assert!(poll(stopped.as_mut(), &waker).is_pending());
    let mut replaced = Box::pin(scoped_or!(Millis<10>, "or", |_: Stopped| 7, {
        await_!(pending::<u8>())
    }));
    assert!(poll(replaced.as_mut(), &waker).is_pending());
    tokio::time::advance(ms(10)).await;
    assert!(poll(replaced.as_mut(), &waker).is_pending());
    assert_eq!(poll(replaced.as_mut(), &waker), Poll::Ready(7));
    assert!(poll(replaced.as_mut(), &waker).is_pending());
}

#[tokio::test(start_paused = true)]
async fn the_body_is_dropped_before_the_fallback_runs() {
    let lock = Arc::new(tokio::sync::Mutex::new(0));
    let (held, wanted) = (lock.clone(), lock.clone());
    let value = scoped_or!(
        Millis<10>,
        "work",
        move |_: Stopped| wanted.try_lock().is_ok(),
        {
            let _guard = held.lock().await;
            await_!(pending::<bool>())
        }
    )
    .await;
    assert!(value);
}

#[tokio::test]
async fn a_body_that_uses_up_the_cooperative_budget_still_expires() {
    let polls = Arc::new(AtomicUsize::new(0));
    let count = polls.clone();
    let start = Instant::now();
    let stopped = timeout(ms(20), async move {
        let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
        loop {
            send.send(()).unwrap();
            receive.recv().await;
            count.fetch_add(1, Relaxed);
        }
    })
    .await;
    let stopped: Stopped = match stopped {
        Ok(never) => never,
        Err(stopped) => stopped,
    };
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert!(start.elapsed() < ms(5_000));
    assert!(polls.load(Relaxed) > 0);
}

#[tokio::test(start_paused = true)]
async fn a_shield_under_another_waker_is_waited_for() {
    use common::rt::{Shield, Spec};
    const SHIELD: Spec<Millis<50>> = Spec::new("rollback");
    for (takes, finished, ends_at) in [(30, 1, 30), (80, 0, 45)] {
        let done = Arc::new(AtomicUsize::new(0));
        let cx = Context::root("request", Budget::new(ms(500)));
        let count = done.clone();
        let task = tokio::spawn(cx.run(async move {
            let mut set: FuturesUnordered<_> = (0..3)
                .map(|index| {
                    let count = count.clone();
                    scoped!(Unbudgeted, "work", {
                        if index == 1 {
                            let work = async move {
                                tokio::time::sleep(ms(takes + 5)).await;
                                count.fetch_add(1, Relaxed);
                            };
                            match (Shield::enter(&SHIELD), work) {
                                (shield, future) => shield.run(future).await?,
                            }
                        }
                        await_!(pending::<Forever>())
                    })
                })
                .collect();
            // Swallows what it gets, so that only the hold keeps it alive.
            while set.next().await.is_some() {}
            pending::<()>().await
        }));
        tokio::time::sleep(ms(5)).await;
        let start = tokio::time::Instant::now();
        cx.cancel(Cause::ClientCancelled);
        let stopped = task.await.unwrap().unwrap_err();
        assert_eq!(stopped.cause(), Cause::ClientCancelled);
        assert_eq!(done.load(Relaxed), finished);
        assert_eq!(start.elapsed(), ms(ends_at));
    }
}

#[tokio::test(start_paused = true)]
async fn a_shield_several_levels_down_is_waited_for_by_all() {
    use common::rt::{Shield, Spec};
    const SHIELD: Spec<Millis<50>> = Spec::new("rollback");
    let cx = Context::builder("request")
        .budget(Budget::new(ms(500)))
        .report(true)
        .build();
    let task = tokio::spawn(cx.run(scoped!(Unbudgeted, "a", {
        let b = scoped!(Unbudgeted, "b", {
            let c = scoped!(Unbudgeted, "c", {
                match (Shield::enter(&SHIELD), tokio::time::sleep(ms(45))) {
                    (shield, future) => shield.run(future).await?,
                }
                await_!(pending::<Forever>())
            });
            let _ = c.await;
            await_!(pending::<Forever>())
        });
        let _ = futures::future::join_all([b]).await;
        await_!(pending::<Forever>())
    })));
    tokio::time::sleep(ms(5)).await;
    cx.cancel(Cause::Shutdown);
    let stopped = task.await.unwrap().unwrap().unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.elapsed()),
        (Cause::Shutdown, ms(45))
    );
    let outcomes: Vec<_> = cx
        .report()
        .unwrap()
        .scopes
        .iter()
        .map(|scope| (scope.operation, scope.elapsed, scope.outcome))
        .collect();
    let stopped = Outcome::Stopped(Cause::Shutdown);
    assert_eq!(
        outcomes,
        [
            ("request", ms(45), Outcome::Completed),
            ("a", ms(45), stopped),
            ("b", ms(45), stopped),
            ("c", ms(45), stopped),
            ("rollback", ms(45), Outcome::Completed),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_unused_future_keeps_nothing_and_a_moved_one_stays_correct() {
    let start = tokio::time::Instant::now();
    let made = short();
    tokio::time::sleep(ms(100)).await;
    // The budget starts at the first poll.
    assert_eq!(made.await.unwrap_err().elapsed(), ms(40));
    assert_eq!(start.elapsed(), ms(140));
}

/// Nobody can cancel a context that nobody has: its scope waits for that only from when somebody can.
#[tokio::test(start_paused = true)]
async fn a_context_that_is_handed_out_late_still_wakes_its_scope() {
    let (give, take) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(scoped!(Unbudgeted, "outer", {
        scoped!(Unbudgeted, "inner", {
            yield_now().await;
            Ok::<(), Stopped>(())
        })
        .await?;
        let _ = give.send(Context::current());
        await_!(pending::<Forever>())
    }));
    let context = take.await.unwrap();
    yield_now().await;
    context.cancel(Cause::Shutdown);
    let outcome = tokio::time::timeout(ms(1), task).await.unwrap().unwrap();
    assert_eq!(outcome.unwrap_err().cause(), Cause::Shutdown);
}

#[tokio::test(start_paused = true)]
async fn an_expression_that_waits_under_a_shield_does_not_mix_the_contexts_up() {
    use common::rt::{Shield, Spec};
    const SHIELD: Spec<Millis<50>> = Spec::new("shield");
    let outcome: Result<_, Stopped> = scoped!(Millis<900>, "outer", {
        match (Shield::enter(&SHIELD), {
            yield_now().await;
            std::future::ready(7)
        }) {
            (shield, future) => shield.run(future).await?,
        };
        let cx = Context::current();
        Ok((cx.remaining(), cx.check().is_ok()))
    })
    .await;
    assert_eq!(outcome.unwrap(), (Some(ms(900)), true));
}
