//! Tasks of a scope: spawned into it, joined when it ends; and critical work, which is not.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};

use common::rt::{Shield, Spec};
use common::{ms, poll_here};
use deadline_runtime::{
    Budget, Cause, Context, Group, Millis, Mode, Phase, Stopped, Task, TaskError, Tracker, deadline,
};
use futures::FutureExt as _;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

/// For a task that goes on for long after its stop.
const LONG: Budget = Budget::inherited().cleanup(std::time::Duration::from_millis(900));

fn request(millis: u64) -> Context {
    Context::root("request", Budget::new(ms(millis)))
}

struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[deadline(budget = "10ms")]
async fn ten_steps(steps: Arc<AtomicUsize>, gone: Arc<AtomicUsize>) -> Result<(), Stopped> {
    for _ in 0..4 {
        let (steps, gone) = (steps.clone(), Gone(gone.clone()));
        drop(Context::current().spawn(|_| async move {
            let _gone = gone;
            for _ in 0..10 {
                sleep(ms(10)).await;
                steps.fetch_add(1, SeqCst);
            }
        }));
    }
    sleep(ms(1_000)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_a_stopped_function_has_spawned_is_joined_before_it_returns() {
    let (steps, gone) = (Arc::default(), Arc::default());
    let start = Instant::now();
    let stopped = ten_steps(Arc::clone(&steps), Arc::clone(&gone))
        .await
        .unwrap_err();
    assert_eq!(
        (stopped.cause(), start.elapsed()),
        (Cause::DeadlineExceeded, ms(10))
    );
    assert_eq!(gone.load(SeqCst), 4);
    assert!(steps.load(SeqCst) <= 4);
    let before = steps.load(SeqCst);
    sleep(ms(200)).await;
    assert_eq!(steps.load(SeqCst), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_on_many_threads() {
    for _ in 0..20 {
        let (steps, gone) = (Arc::default(), Arc::default());
        let stopped = ten_steps(Arc::clone(&steps), Arc::clone(&gone))
            .await
            .unwrap_err();
        assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
        assert!(steps.load(SeqCst) <= 4);
        // The scheduler of a busy machine may need longer than a task is waited for.
        let patience = std::time::Instant::now();
        while gone.load(SeqCst) < 4 && patience.elapsed() < ms(5_000) {
            sleep(ms(1)).await;
        }
        assert_eq!(gone.load(SeqCst), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bare_spawn_keeps_the_deadline_and_is_nobodys() {
    #[deadline]
    async fn step(ended: Arc<Mutex<Option<Cause>>>) -> Result<(), Stopped> {
        let cx = Context::current();
        tokio::spawn(async move {
            *ended.lock().unwrap() = Some(cx.cancelled().await);
        });
        Ok(())
    }
    let cx = request(50);
    let seen = Arc::<Mutex<Option<Cause>>>::default();
    let steps = seen.clone();
    let start = Instant::now();
    cx.run(async move { step(steps).await })
        .await
        .unwrap()
        .unwrap();
    // Neither cancelled nor joined by the end of what started it.
    assert_eq!((start.elapsed(), *seen.lock().unwrap()), (ms(0), None));
    sleep(ms(60)).await;
    assert_eq!(*seen.lock().unwrap(), Some(Cause::DeadlineExceeded));
}

/// Of a function, whatever its value is made of.
#[tokio::test(start_paused = true)]
async fn the_value_of_a_function_waits_if_it_may_be_sent() {
    fn tidying(gone: &Arc<AtomicUsize>) {
        let gone = Gone(gone.clone());
        let budget = Budget::inherited().cleanup(ms(200));
        drop(Context::current().spawn_within(budget, |cx| async move {
            let _gone = gone;
            cx.cancelled().await;
            sleep(ms(30)).await;
        }));
    }
    #[deadline(budget = "500ms")]
    async fn plain(gone: &Arc<AtomicUsize>) -> Result<u8, Stopped> {
        tidying(gone);
        yield_now().await;
        Ok(7)
    }
    #[deadline(budget = "500ms", fallback = 0)]
    async fn falls_back(gone: &Arc<AtomicUsize>) -> u8 {
        tidying(gone);
        yield_now().await;
        7
    }
    #[deadline(budget = "500ms")]
    async fn generic<T: Send>(gone: &Arc<AtomicUsize>, value: T) -> Result<T, Stopped> {
        tidying(gone);
        yield_now().await;
        Ok(value)
    }
    #[deadline(budget = "500ms")]
    async fn boxed_error(gone: &Arc<AtomicUsize>) -> Result<u8, Box<dyn std::error::Error>> {
        tidying(gone);
        yield_now().await;
        Ok(7)
    }
    #[deadline(budget = "500ms")]
    async fn unknown<T>(gone: &Arc<AtomicUsize>, value: T) -> Result<T, Stopped> {
        tidying(gone);
        yield_now().await;
        Ok(value)
    }
    #[deadline(budget = "500ms")]
    async fn opaque(gone: &Arc<AtomicUsize>) -> Result<impl std::fmt::Debug + use<>, Stopped> {
        tidying(gone);
        yield_now().await;
        Ok(7)
    }
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    for which in 0..6 {
        let gone = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        // A future is as `Send` as that of the function without the attribute.
        match which {
            0 => assert_eq!(is_send(plain(&gone)).await.unwrap(), 7),
            1 => assert_eq!(is_send(falls_back(&gone)).await, 7),
            2 => assert_eq!(is_send(generic(&gone, 7)).await.unwrap(), 7),
            3 => assert_eq!(is_send(boxed_error(&gone)).await.unwrap(), 7),
            4 => assert_eq!(is_send(unknown(&gone, 7)).await.unwrap(), 7),
            _ => assert_eq!(format!("{:?}", is_send(opaque(&gone)).await.unwrap()), "7"),
        }
        // What cannot be held back leaves the tasks to be joined elsewhere.
        let waits = which < 3;
        let expected = if waits { (ms(30), 1) } else { (ms(0), 0) };
        assert_eq!((start.elapsed(), gone.load(SeqCst)), expected, "{which}");
        sleep(ms(40)).await;
        assert_eq!(gone.load(SeqCst), 1);
    }
}

/// It has ended: a cancel is none of its business, and must not keep it awake.
#[tokio::test(start_paused = true)]
async fn a_value_that_waits_for_tasks_sleeps_through_a_cancel() {
    #[deadline(budget = "500ms")]
    async fn work() -> Result<u8, Stopped> {
        let budget = Budget::inherited().cleanup(ms(200));
        drop(Context::current().spawn_within(budget, |cx| async move {
            cx.cancelled().await;
            sleep(ms(30)).await;
        }));
        yield_now().await;
        Ok(7)
    }
    let cx = request(1_000);
    let inside = cx.clone();
    let start = Instant::now();
    let canceller = cx.clone();
    tokio::spawn(async move {
        sleep(ms(10)).await;
        canceller.cancel(Cause::ClientCancelled);
    });
    // In a task that may tidy up, so that it is there for the value.
    let task = inside.spawn_within(Budget::inherited().cleanup(ms(300)), |_| work());
    assert_eq!(task.await.unwrap().unwrap(), 7);
    assert_eq!(start.elapsed(), ms(30));
}

/// Inside a task, whose value can be held back.
#[tokio::test(start_paused = true)]
async fn a_value_waits_until_the_tasks_have_ended() {
    for (tidies, lasts, aborted) in [(30, 30, false), (500, 100, true)] {
        let cx = request(10_000);
        let mut group = Group::below(&cx);
        let (gone, cause) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
        let (counts, seen) = (gone.clone(), cause.clone());
        group.spawn(move |cx| async move {
            drop(cx.spawn_within(LONG, |cx| async move {
                let _gone = Gone(counts);
                *seen.lock().unwrap() = Some(cx.cancelled().await);
                sleep(ms(tidies)).await;
                assert!(!aborted);
            }));
            yield_now().await;
            7
        });
        let start = Instant::now();
        assert_eq!(group.join_next().await.unwrap().unwrap(), 7);
        assert_eq!((start.elapsed(), gone.load(SeqCst)), (ms(lasts), 1));
        assert_eq!(*cause.lock().unwrap(), Some(Cause::Abandoned));
        assert_eq!(cx.report().unwrap().orphans, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn joining_never_goes_beyond_the_hard_deadline() {
    #[deadline(budget = "100ms", reserve = "20ms")]
    async fn work(gone: Arc<AtomicUsize>) -> Result<(), Stopped> {
        let tidies = Budget::inherited().cleanup(ms(70));
        drop(Context::current().spawn_within(tidies, |_| async move {
            let _gone = Gone(gone);
            pending::<()>().await
        }));
        pending().await
    }
    // The task may go on until 80, where the work of its scope ends.
    for (cancelled_at, grace, ends_at) in [(50, 10, 60), (50, 1_000, 80), (90, 1_000, 85)] {
        let cx = Context::builder("request").grace(ms(grace)).build();
        let gone = Arc::new(AtomicUsize::new(0));
        let (counts, cancels) = (gone.clone(), cx.clone());
        tokio::spawn(async move {
            sleep(ms(cancelled_at)).await;
            cancels.cancel(Cause::ClientCancelled);
        });
        let start = Instant::now();
        let outcome = cx.run(async move { work(counts).await }).await;
        assert!(outcome.is_err() || outcome.unwrap().is_err());
        assert_eq!((start.elapsed(), gone.load(SeqCst)), (ms(ends_at), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_dropped_function_are_joined_by_the_scope_around_it() {
    #[deadline(budget = "5s")]
    async fn inner(gone: Arc<AtomicUsize>) -> Result<(), Stopped> {
        drop(Context::current().spawn_within(LONG, |cx| async move {
            let _gone = Gone(gone);
            cx.cancelled().await;
            sleep(ms(30)).await;
        }));
        pending().await
    }
    #[deadline(budget = "5s")]
    async fn outer(gone: Arc<AtomicUsize>) -> Result<(), Stopped> {
        // Asked for, so that tasks can belong to it.
        let _own = Context::current();
        // Dropped by the race it has lost.
        tokio::select! {
            done = inner(gone) => done,
            () = sleep(ms(10)) => pending().await,
        }
    }
    let gone = Arc::new(AtomicUsize::new(0));
    let cx = request(4_000);
    let cancels = cx.clone();
    tokio::spawn(async move {
        sleep(ms(10)).await;
        cancels.cancel(Cause::ClientCancelled);
    });
    let start = Instant::now();
    let counts = gone.clone();
    let stopped = match cx.run(async move { outer(counts).await }).await {
        Ok(inner) => inner.unwrap_err(),
        Err(stopped) => stopped,
    };
    assert_eq!(
        (stopped.cause(), start.elapsed()),
        (Cause::ClientCancelled, ms(40))
    );
    assert_eq!(gone.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_ancestors_cancel_waits_for_the_tasks_of_what_it_stops() {
    #[deadline(budget = "5s")]
    async fn leaf(gone: Arc<AtomicUsize>) -> Result<(), Stopped> {
        drop(Context::current().spawn_within(LONG, |cx| async move {
            let _gone = Gone(gone);
            cx.cancelled().await;
            sleep(ms(30)).await;
        }));
        pending().await
    }
    #[deadline(budget = "6s")]
    async fn middle(gone: Arc<AtomicUsize>) -> Result<(), Stopped> {
        leaf(gone).await
    }
    // In one task, and with a waker of its own.
    for foreign in [false, true] {
        let gone = Arc::new(AtomicUsize::new(0));
        let cx = request(4_000);
        let (counts, cancels) = (gone.clone(), cx.clone());
        tokio::spawn(async move {
            sleep(ms(10)).await;
            cancels.cancel(Cause::ClientCancelled);
        });
        let start = Instant::now();
        let outcome = cx
            .run(async move {
                if foreign {
                    let all: futures::stream::FuturesUnordered<_> =
                        [middle(counts)].into_iter().collect();
                    let all: Vec<_> = futures::StreamExt::collect(all).await;
                    all.into_iter().next().unwrap()
                } else {
                    middle(counts).await
                }
            })
            .await;
        let stopped = match outcome {
            Ok(inner) => inner.unwrap_err(),
            Err(stopped) => stopped,
        };
        assert_eq!(
            (stopped.cause(), start.elapsed()),
            (Cause::ClientCancelled, ms(40))
        );
        assert_eq!(gone.load(SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn who_awaits_a_task_gets_its_value_its_stop_or_its_panic() {
    let cx = request(1_000);
    let value: Task<u8> = cx.spawn(|_| async { 7 });
    assert_eq!(value.await.unwrap(), 7);
    let stopped = cx
        .spawn_within(ms(20), |_| pending::<()>())
        .await
        .unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.operation()),
        (Cause::DependencyTimeout, "task")
    );
    let cancelled = cx.spawn(|_| pending::<()>());
    assert!(cancelled.cancel(Cause::Superseded));
    assert_eq!(cancelled.context().cause(), Some(Cause::Superseded));
    assert_eq!(cancelled.await.unwrap_err().cause(), Cause::Superseded);
    let panics = cx.spawn(|_| async { panic!("bad") });
    let thrown = AssertUnwindSafe(panics).catch_unwind().await.unwrap_err();
    assert_eq!(thrown.downcast_ref(), Some(&"bad"));
    let panics = cx.spawn(|_| async { panic!("bad") });
    let Err(TaskError::Panicked(panicked)) = panics.join().await else {
        panic!("expected a panic");
    };
    assert_eq!(panicked.message().as_deref(), Some("bad"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_nobody_awaits_goes_on_at_the_end_of_the_scope_after_the_others() {
    #[deadline(budget = "500ms")]
    async fn work(early: bool, gone: Arc<AtomicUsize>) -> Result<(), Stopped> {
        let cx = Context::current();
        let panics = cx.spawn(|_| async { panic!("bad") });
        drop(cx.spawn(|cx| async move {
            let _gone = Gone(gone);
            cx.cancelled().await;
        }));
        if early {
            drop(panics);
            pending().await
        } else {
            // It has ended, and the handle is dropped with the body.
            pending::<()>().await;
            panics.await
        }
    }
    for early in [true, false] {
        let gone = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        let outcome = AssertUnwindSafe(work(early, gone.clone()))
            .catch_unwind()
            .await;
        assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"bad"));
        assert_eq!((start.elapsed(), gone.load(SeqCst)), (ms(500), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_made_by_hand_has_the_scopes_that_run_under_it() {
    let cx = request(1_000);
    let cause = Arc::new(Mutex::new(Vec::new()));
    let spawn = |cx: &Context| {
        let cause = cause.clone();
        drop(cx.spawn(|cx| async move {
            struct Says(Arc<Mutex<Vec<Option<Cause>>>>, Context);
            impl Drop for Says {
                fn drop(&mut self) {
                    self.0.lock().unwrap().push(self.1.cause());
                }
            }
            let _says = Says(cause, cx);
            pending::<()>().await
        }));
    };
    // Before anything runs under it, and inside.
    spawn(&cx);
    let (inside, other) = (cx.clone(), cx.clone());
    let slow = tokio::spawn(other.run(async { sleep(ms(50)).await }));
    yield_now().await;
    cx.run(async { spawn(&inside) }).await.unwrap();
    sleep(ms(10)).await;
    // Another scope still runs under it.
    assert_eq!(*cause.lock().unwrap(), []);
    slow.await.unwrap().unwrap();
    sleep(ms(1)).await;
    assert_eq!(*cause.lock().unwrap(), [Some(Cause::Abandoned); 2]);
    assert_eq!(cx.cause(), None);
}

#[tokio::test(start_paused = true)]
async fn only_the_deadline_the_cause_and_the_identity_cross_into_a_task() {
    tokio::task_local! {
        static TRANSACTION: u8;
    }
    const SHIELDED: Spec<Millis<500>> = Spec::new("shielded");
    let cx = Context::builder("request")
        .budget(Budget::new(ms(1_000)))
        .request_id("r1")
        .build();
    let inside = cx.clone();
    let work = TRANSACTION.scope(1, async move {
        let spawned = match (Shield::enter(&SHIELDED), {
            let task = inside.spawn(|cx| async move {
                assert!(TRANSACTION.try_with(|_| ()).is_err());
                assert_eq!(cx.request_id().as_deref(), Some("r1"));
                assert_eq!(cx.remaining(), Some(ms(1_000)));
                // Not shielded: the shield is the caller's.
                cx.cancelled().await
            });
            yield_now().await;
            inside.cancel(Cause::ClientCancelled);
            task
        }) {
            (shield, task) => shield.run(task).await,
        };
        spawned.unwrap().unwrap()
    });
    let outcome = cx.run(work).await;
    assert_eq!(outcome.unwrap(), Cause::ClientCancelled);
}

#[tokio::test(start_paused = true)]
async fn a_shield_inside_a_cancelled_scope_leaves_the_cause_to_the_outer_one() {
    const SHIELDED: Spec<Millis<50>> = Spec::new("shielded");
    let cx = request(1_000);
    let inside = cx.clone();
    let seen = Arc::new(Mutex::new(None));
    let noted = seen.clone();
    let outcome = cx
        .run(async move {
            let _ = match (Shield::enter(&SHIELDED), {
                let own = Context::current();
                inside.cancel(Cause::ClientCancelled);
                async move {
                    sleep(ms(20)).await;
                    *noted.lock().unwrap() = Some((own.cause(), own.check().is_ok()));
                }
            }) {
                (shield, future) => shield.run(future).await,
            };
            // The next await sees it.
            pending::<()>().await
        })
        .await;
    assert_eq!(*seen.lock().unwrap(), Some((None, true)));
    let stopped = outcome.unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.operation()),
        (Cause::ClientCancelled, "request")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_never_yields_is_counted_in_the_requests_report() {
    let tracker = Tracker::new();
    let cx = Context::builder("request")
        .tracker(&tracker)
        .grace(ms(10))
        .report(true)
        .build();
    #[deadline(budget = "50ms")]
    async fn work(stuck: mpsc::Receiver<()>) -> Result<(), Stopped> {
        let (begun, begins) = tokio::sync::oneshot::channel();
        drop(Context::current().spawn(|_| async move {
            let _ = begun.send(());
            let _ = stuck.recv();
        }));
        let _ = begins.await;
        pending().await
    }
    let (release, stuck) = mpsc::channel();
    let start = std::time::Instant::now();
    let stopped = cx
        .run(async { work(stuck).await })
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    assert!(start.elapsed() < ms(5_000));
    let report = cx.report().unwrap();
    assert_eq!((report.orphans, report.orphans_running), (1, 1));
    assert!(
        report
            .to_string()
            .contains("orphans: 1, of which 1 still run")
    );
    assert_eq!(tracker.stats().orphan_tasks, 1);
    drop(release);
    tracker.wait(ms(5_000)).await.unwrap();
    assert_eq!(cx.report().unwrap().orphans_running, 0);
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_enforced_tasks_run_on_and_are_counted() {
    let cx = Context::builder("request")
        .budget(Budget::new(ms(10)))
        .mode(Mode::Observe)
        .build();
    let done = Arc::new(AtomicBool::new(false));
    let flag = done.clone();
    cx.run(async {
        drop(Context::current().spawn(|_| async move {
            sleep(ms(50)).await;
            flag.store(true, SeqCst);
        }));
        yield_now().await;
    })
    .await
    .unwrap();
    assert_eq!(cx.report().unwrap().orphans_running, 1);
    sleep(ms(60)).await;
    assert!(done.load(SeqCst));
    let report = cx.report().unwrap();
    assert_eq!((report.orphans, report.orphans_running), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn critical_work_outlives_its_caller_its_cancel_and_its_deadline() {
    let tracker = Tracker::new();
    let cx = Context::builder("order")
        .budget(Budget::new(ms(50)))
        .request_id("r1")
        .report(true)
        .tracker(&tracker)
        .build();
    let done = Arc::new(AtomicBool::new(false));
    let (flag, inside) = (done.clone(), cx.clone());
    let mut caller = Box::pin(cx.run(async move {
        let _task = inside.critical("journal", ms(500), move |cx| async move {
            sleep(ms(200)).await;
            assert_eq!((cx.cause(), cx.remaining()), (None, Some(ms(300))));
            assert_eq!(cx.request_id().as_deref(), Some("r1"));
            assert_eq!(Context::current().request_id().as_deref(), Some("r1"));
            flag.store(true, SeqCst);
        });
        pending::<()>().await
    }));
    assert!(poll_here(caller.as_mut()).await.is_pending());
    cx.cancel(Cause::ClientCancelled);
    drop(caller);
    assert_eq!((tracker.stats().critical, tracker.stats().requests), (1, 0));
    tracker.wait(ms(1_000)).await.unwrap();
    assert!(done.load(SeqCst) && tracker.stats().is_idle());
    let report = cx.report().unwrap();
    let names: Vec<_> = report.scopes.iter().map(|scope| scope.operation).collect();
    assert_eq!(names, ["order", "journal"]);
}

#[tokio::test(start_paused = true)]
async fn critical_work_has_a_bound_of_its_own() {
    let cx = request(100);
    let start = Instant::now();
    let stopped = cx
        .critical("journal", ms(300), |_| pending::<()>())
        .await
        .unwrap_err();
    assert_eq!(
        (
            stopped.cause(),
            stopped.limited_by().operation(),
            start.elapsed()
        ),
        (Cause::DependencyTimeout, "journal", ms(300))
    );
    // A budget that is no duration is of what the caller has left.
    let cx = request(100);
    let half = cx.critical(
        "half",
        Budget::percent(50),
        |cx| async move { cx.remaining() },
    );
    assert_eq!(half.await.unwrap(), Some(ms(50)));
    let all = cx.critical(
        "all",
        Budget::inherited(),
        |cx| async move { cx.remaining() },
    );
    assert_eq!(all.await.unwrap(), Some(ms(100)));
    // Nothing would bound it.
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    let refused = Context::none().critical("none", Budget::inherited(), move |_| async move {
        flag.store(true, SeqCst);
    });
    let stopped = refused.await.unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::LocalBudgetRejected, Phase::Start)
    );
    assert!(
        stopped
            .to_string()
            .contains("requires a deadline and none is in scope"),
        "{stopped}"
    );
    assert!(!ran.load(SeqCst));
    // It holds where the request's is not enforced.
    let cx = Context::builder("request").mode(Mode::Observe).build();
    let stopped = cx
        .critical("journal", ms(20), |_| pending::<()>())
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
}

#[tokio::test(start_paused = true)]
async fn what_critical_work_spawns_is_joined_when_it_ends() {
    let gone = Arc::new(AtomicUsize::new(0));
    let counts = gone.clone();
    let work = request(10).critical("journal", ms(500), |cx| async move {
        drop(
            cx.spawn_within(Budget::inherited().cleanup(ms(100)), |cx| async move {
                let _gone = Gone(counts);
                cx.cancelled().await;
                sleep(ms(20)).await;
            }),
        );
        sleep(ms(100)).await;
    });
    let start = Instant::now();
    work.await.unwrap();
    assert_eq!((start.elapsed(), gone.load(SeqCst)), (ms(120), 1));
}

#[tokio::test(start_paused = true)]
async fn detached_work_is_counted() {
    let tracker = Tracker::new();
    let cx = Context::builder("request")
        .budget(Budget::new(ms(10)))
        .tracker(&tracker)
        .build();
    let task = cx.detach("audit", ms(200), || async {
        sleep(ms(100)).await;
        // Inherited once more.
        drop(Context::current().critical("entry", ms(100), |_| sleep(ms(50))));
    });
    assert_eq!(tracker.stats().detached, 1);
    drop(task);
    yield_now().await;
    assert_eq!((tracker.stats().requests, tracker.stats().scopes), (0, 1));
    sleep(ms(120)).await;
    assert_eq!((tracker.stats().detached, tracker.stats().critical), (0, 1));
    assert_eq!(
        tracker.wait(ms(10)).await.unwrap_err().to_string(),
        "still running after 10ms: 1 scope, 1 critical"
    );
    tracker.wait(ms(100)).await.unwrap();
    assert_eq!(tracker.stats().to_string(), "nothing");
}
