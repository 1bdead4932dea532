//! Groups: tasks that end with the place where they were spawned.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::Poll;

use common::rt::{Shield, Spec, guard};
use common::{ms, poll_here};
use deadline_runtime::{
    Budget, Cause, Closed, Context, Group, Millis, Mode, Phase, Stopped, TaskError, Tracker,
};
use futures::FutureExt as _;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

fn request(millis: u64) -> Context {
    Context::root("request", Budget::new(ms(millis)))
}

fn stop(result: Option<Result<(), TaskError>>) -> Stopped {
    match result {
        Some(Err(TaskError::Stopped(stopped))) => stopped,
        other => panic!("{other:?}"),
    }
}

fn counts(closed: &Closed) -> [usize; 5] {
    [
        closed.finished,
        closed.stopped,
        closed.panicked,
        closed.aborted,
        closed.orphans,
    ]
}

/// Says when it is dropped.
struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Ends only by force, where its task may tidy up for long.
async fn stubborn(gone: Arc<AtomicUsize>) {
    let _gone = Gone(gone);
    pending().await
}

/// For a task that goes on for long after its stop.
const LONG: Budget = Budget::inherited().cleanup(std::time::Duration::from_millis(900));

#[tokio::test(start_paused = true)]
async fn tasks_are_joined_in_the_order_in_which_they_end() {
    let cx = request(1_000);
    let mut group = Group::below(&cx);
    for wait in [30, 10, 20] {
        group.spawn(move |_| async move {
            sleep(ms(wait)).await;
            wait
        });
    }
    assert_eq!(
        (group.len(), group.running(), group.is_empty()),
        (3, 3, false)
    );
    let mut ended = Vec::new();
    while let Some(result) = group.join_next().await {
        ended.push(result.unwrap());
    }
    assert_eq!(ended, [10, 20, 30]);
    assert_eq!(
        (group.len(), group.running(), group.is_empty()),
        (0, 0, true)
    );
    let closed = group.close().await;
    assert_eq!(counts(&closed), [3, 0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_task_runs_in_the_context_of_its_group() {
    let cx = Context::builder("request")
        .budget(Budget::new(ms(100)))
        .request_id("r7")
        .build();
    let mut group = Group::<()>::below(&cx);
    let own = group.spawn(|cx| {
        // What is made here captures the task's context.
        let left = Context::current().remaining();
        assert_eq!((left, cx.remaining()), (Some(ms(100)), Some(ms(100))));
        async move {
            let id = || Context::current().request_id();
            assert_eq!(id().as_deref(), Some("r7"));
            // A join and a select keep it.
            let (a, b) = tokio::join!(async { id() }, async {
                yield_now().await;
                id()
            });
            assert_eq!((a.as_deref(), b.as_deref()), (Some("r7"), Some("r7")));
            tokio::select! {
                _ = pending::<()>() => {}
                left = async { Context::current().remaining() } => assert_eq!(left, Some(ms(100))),
            }
            cx.cancelled().await;
            pending().await
        }
    });
    yield_now().await;
    // One task is cancelled, not its group.
    assert!(own.cancel(Cause::Superseded));
    assert_eq!(stop(group.join_next().await).cause(), Cause::Superseded);
    assert_eq!((group.context().cause(), cx.cause()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_task_has_the_deadline_of_the_request_or_its_own() {
    let cx = request(100);
    let mut group = Group::below(&cx);
    let start = Instant::now();
    group.spawn(|_| pending());
    group.spawn_within(ms(40), |_| pending());
    let stopped = stop(group.join_next().await);
    assert_eq!(
        (
            stopped.cause(),
            stopped.limited_by().operation(),
            start.elapsed()
        ),
        (Cause::DependencyTimeout, "task", ms(40))
    );
    let stopped = stop(group.join_next().await);
    assert_eq!(
        (
            stopped.cause(),
            stopped.limited_by().operation(),
            start.elapsed()
        ),
        (Cause::DeadlineExceeded, "request", ms(100))
    );
    // Nothing begins any more.
    let begun = Arc::new(AtomicBool::new(false));
    let flag = begun.clone();
    group.spawn(|_| async move { flag.store(true, SeqCst) });
    let stopped = stop(group.join_next().await);
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::DeadlineExceeded, Phase::Start)
    );
    assert!(!begun.load(SeqCst));
    assert!(group.join_next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn closing_cancels_and_joins() {
    let cx = request(1_000);
    for given in [None, Some(Cause::SiblingFailed)] {
        let mut group = Group::below(&cx);
        let seen = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let seen = seen.clone();
            group.spawn_within(LONG, |cx| async move {
                assert_eq!(cx.cancelled().await, given.unwrap_or(Cause::UserCancelled));
                seen.fetch_add(1, SeqCst);
                sleep(ms(20)).await;
            });
        }
        group.spawn(|_| async {});
        yield_now().await;
        if let Some(cause) = given {
            assert!(group.cancel(cause));
        }
        let start = Instant::now();
        let closed = group.close().await;
        assert_eq!(counts(&closed), [4, 0, 0, 0, 0]);
        assert_eq!((start.elapsed(), closed.stop_lag), (ms(20), ms(20)));
        assert_eq!(seen.load(SeqCst), 3);
        assert_eq!(cx.cause(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_swallows_its_stop_is_aborted_at_the_end_of_the_grace_and_dropped() {
    let cx = request(10_000);
    let gone = Arc::new(AtomicUsize::new(0));
    let mut group = Group::below(&cx).grace(ms(50));
    group.spawn_within(LONG, |_| stubborn(gone.clone()));
    group.spawn(|_| pending());
    yield_now().await;
    let start = Instant::now();
    let closed = group.close().await;
    assert_eq!(counts(&closed), [0, 1, 0, 1, 0]);
    assert_eq!((start.elapsed(), closed.stop_lag), (ms(50), ms(50)));
    assert_eq!(gone.load(SeqCst), 1);
    assert_eq!(
        closed.to_string(),
        "closed in 50ms: 0 finished, 1 stopped, 1 aborted"
    );
}

/// In real time: a loop that swallows every stop is never idle.
#[tokio::test]
async fn a_loop_that_swallows_its_stops_is_aborted_as_well() {
    let gone = Arc::new(AtomicUsize::new(0));
    let mut group = Group::below(&request(60_000)).grace(ms(20));
    let tidy = gone.clone();
    group.spawn_within(LONG, |_| async move {
        let _gone = Gone(tidy);
        loop {
            let _ = guard(pending::<()>()).await;
        }
    });
    yield_now().await;
    let closed = group.close().await;
    assert_eq!(counts(&closed), [0, 0, 0, 1, 0]);
    assert!(closed.stop_lag >= ms(20) && closed.stop_lag < ms(5_000));
    assert_eq!(gone.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn the_grace_ends_with_the_deadline_around_the_group() {
    let cx = request(100);
    let gone = Arc::new(AtomicUsize::new(0));
    let mut group = Group::below(&cx).grace(ms(500));
    let tidies = Budget::inherited().cleanup(ms(90));
    group.spawn_within(tidies, |_| stubborn(gone.clone()));
    sleep(ms(70)).await;
    let start = Instant::now();
    let closed = group.close().await;
    assert_eq!(
        (counts(&closed), start.elapsed()),
        ([0, 1, 0, 0, 0], ms(30))
    );
    assert_eq!(gone.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shield_inside_a_task_holds_within_the_grace() {
    const ROLLBACK: Spec<Millis<60>> = Spec::new("rollback");
    for (grace, expected) in [(100, [0, 1, 0, 0, 0]), (30, [0, 0, 0, 1, 0])] {
        let cx = request(1_000);
        let done = Arc::new(AtomicBool::new(false));
        let flag = done.clone();
        let mut group = Group::<()>::below(&cx).grace(ms(grace));
        group.spawn(|cx| async move {
            let shielded = match (Shield::enter(&ROLLBACK), async move {
                sleep(ms(50)).await;
                // The cancel is the group's; nothing in here has seen it.
                assert_eq!(Context::current().cause(), None);
                assert_eq!(cx.cause(), Some(Cause::UserCancelled));
                flag.store(true, SeqCst);
            }) {
                (shield, future) => shield.run(future).await,
            };
            assert!(shielded.is_ok());
            pending().await
        });
        yield_now().await;
        let start = Instant::now();
        let closed = group.close().await;
        assert_eq!(counts(&closed), expected);
        assert_eq!(start.elapsed(), ms(grace.min(50)));
        assert_eq!(done.load(SeqCst), grace == 100);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_the_limit_says() {
    let cx = request(1_000);
    let mut group = Group::below(&cx).limit(3);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for index in 0..10 {
        let (now, most) = (now.clone(), most.clone());
        group.spawn(move |_| async move {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            sleep(ms(10)).await;
            now.fetch_sub(1, SeqCst);
            index
        });
    }
    let start = Instant::now();
    let mut order = Vec::new();
    while let Some(result) = group.join_next().await {
        order.push(result.unwrap());
    }
    assert_eq!(order, (0..10).collect::<Vec<_>>());
    assert_eq!((most.load(SeqCst), start.elapsed()), (3, ms(40)));
}

#[tokio::test(start_paused = true)]
async fn what_is_stopped_in_the_queue_never_begins() {
    let cx = request(100);
    let mut group = Group::below(&cx).limit(0);
    let begun = Arc::new(AtomicUsize::new(0));
    for own in [60, 40] {
        let begun = begun.clone();
        group.spawn_within(ms(own), |_| async move {
            begun.fetch_add(1, SeqCst);
            pending().await
        });
    }
    for phase in [Phase::Queue, Phase::Wait] {
        let stopped = stop(group.join_next().await);
        assert_eq!(
            (stopped.cause(), stopped.phase()),
            (Cause::DependencyTimeout, phase)
        );
    }
    assert_eq!(begun.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded_and_one_more_is_refused() {
    let cx = request(1_000);
    let mut group = Group::below(&cx).limit(2).queue(3);
    let called = Arc::new(AtomicUsize::new(0));
    for index in 0..7 {
        let called = called.clone();
        group.spawn(move |_| {
            called.fetch_add(1, SeqCst);
            async move {
                sleep(ms(10)).await;
                index
            }
        });
    }
    // Two at once and three in the queue; the work of the others was not even called.
    assert_eq!(called.load(SeqCst), 5);
    let (mut values, mut refused) = (Vec::new(), Vec::new());
    while let Some(result) = group.join_next().await {
        match result {
            Ok(value) => values.push(value),
            Err(TaskError::Stopped(stopped)) => refused.push(stopped),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(values, [0, 1, 2, 3, 4]);
    assert_eq!(refused.len(), 2);
    for stopped in &refused {
        assert_eq!(
            (stopped.cause(), stopped.phase()),
            (Cause::Overload, Phase::Queue)
        );
        assert_eq!(stopped.sent(), deadline_runtime::Sent::NotSent);
        let text = stopped.to_string();
        assert!(text.starts_with("task refused: overload"), "{text}");
    }
    // The seats were given back.
    let one = group.spawn(|_| async { 7 });
    assert_eq!(group.join_next().await.unwrap().unwrap(), 7);
    assert_eq!(one.cause(), None);
    assert_eq!(counts(&group.close().await), [6, 2, 0, 0, 0]);
    // By default a thousand wait and more are refused, whichever is said first.
    for group in [
        Group::below(&cx).limit(1),
        Group::below(&cx).limit(9).limit(1),
    ] {
        let mut group = group;
        for _ in 0..1_030 {
            group.spawn(|_| async {});
        }
        let closed = group.finish().await;
        assert_eq!(counts(&closed), [1_025, 5, 0, 0, 0]);
    }
    let mut group = Group::below(&cx).queue(0).limit(1);
    for _ in 0..3 {
        group.spawn(|_| async {});
    }
    assert_eq!(counts(&group.finish().await), [1, 2, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_place_can_be_waited_for() {
    let cx = request(1_000);
    let start = Instant::now();
    let mut group = Group::below(&cx).limit(2).queue(1);
    let mut begun = Vec::new();
    for index in 0..5_u64 {
        group.reserve().await.unwrap().spawn(|_| async move {
            sleep(ms(10)).await;
            index
        });
        begun.push(start.elapsed());
        assert!(group.running() <= 2);
    }
    assert_eq!(begun, [ms(0), ms(0), ms(10), ms(10), ms(20)]);
    // Given back unused, and given up while waiting.
    drop(group.reserve().await.unwrap());
    let unpolled = group.reserve();
    drop(unpolled);
    let mut first = group.reserve().await.unwrap();
    first = {
        drop(first);
        group.reserve().await.unwrap()
    };
    first.spawn_within(ms(5), |_| async { pending().await });
    {
        let mut waiting = Box::pin(group.reserve());
        assert!(poll_here(waiting.as_mut()).await.is_pending());
    }
    let mut values = Vec::new();
    while let Some(value) = group.try_join_next() {
        values.push(value.unwrap());
    }
    assert_eq!(values, [0, 1, 2, 3]);
    assert_eq!(counts(&group.finish().await), [5, 1, 0, 0, 0]);

    // Whoever waits is stopped with the group.
    let cx = request(100);
    let mut group = Group::<()>::below(&cx).limit(1);
    group.spawn(|_| pending());
    let stopped = group.reserve().await.unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::DeadlineExceeded, Phase::Queue)
    );
    assert_eq!(start.elapsed(), ms(30 + 100));
    // Without a limit there is a place until then.
    let mut group = Group::<()>::below(&cx);
    assert_eq!(group.reserve().await.unwrap_err().phase(), Phase::Queue);
    let free = request(100);
    assert!(Group::<()>::below(&free).reserve().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn finish_waits_for_all_and_no_longer_than_the_deadline() {
    let start = Instant::now();
    let cx = request(100);
    let mut group = Group::below(&cx);
    for takes in [10, 40, 30] {
        group.spawn(move |_| sleep(ms(takes)));
    }
    assert_eq!(counts(&group.finish().await), [3, 0, 0, 0, 0]);
    assert_eq!(start.elapsed(), ms(40));
    assert_eq!(cx.cause(), None);

    // The deadline: causes are its own.
    let mut group = Group::below(&cx);
    let seen = group.spawn(|_| pending());
    group.spawn(|_| async {});
    let closed = group.finish().await;
    assert_eq!(counts(&closed), [1, 1, 0, 0, 0]);
    assert_eq!(start.elapsed(), ms(100));
    assert_eq!(seen.cause(), Some(Cause::DeadlineExceeded));

    // A cancel.
    let cx = request(100);
    let mut group = Group::below(&cx).grace(ms(15));
    let gone = Arc::new(AtomicUsize::new(0));
    let inside = gone.clone();
    group.spawn_within(Budget::inherited().cleanup(ms(80)), |_| async move {
        guard(stubborn(inside.clone())).await.ok();
        stubborn(inside).await
    });
    let cancelling = cx.clone();
    tokio::spawn(async move {
        sleep(ms(20)).await;
        cancelling.cancel(Cause::ClientCancelled);
    });
    let start = Instant::now();
    let closed = group.finish().await;
    assert_eq!(counts(&closed), [0, 0, 0, 1, 0]);
    assert_eq!((start.elapsed(), closed.stop_lag), (ms(35), ms(15)));
    assert_eq!(gone.load(SeqCst), 2);

    // A panic comes last; an empty group is over at once.
    let mut group = Group::below(&request(100));
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    group.spawn(|_| async { panic!("early") });
    group.spawn(|_| async move {
        sleep(ms(10)).await;
        flag.store(true, SeqCst);
    });
    let panicked = AssertUnwindSafe(group.finish()).catch_unwind().await;
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"early"));
    assert!(ran.load(SeqCst));
    assert_eq!(Group::<()>::below(&cx).finish().await, Closed::default());
    assert_eq!(Group::<()>::new().finish().await, Closed::default());
}

#[tokio::test(start_paused = true)]
async fn a_panic_comes_out_of_join_next_with_its_payload() {
    let mut group = Group::below(&request(100));
    group.spawn(|_| async { std::panic::panic_any(7_u8) });
    group.spawn(|_| async { panic!("no {}", "luck") });
    group.spawn(|_| async { 1 });
    let Some(Err(TaskError::Panicked(panicked))) = group.join_next().await else {
        panic!("expected a panic");
    };
    assert_eq!(panicked.to_string(), "task panicked");
    assert_eq!(panicked.into_payload().downcast_ref(), Some(&7_u8));
    let Some(Err(TaskError::Panicked(panicked))) = group.join_next().await else {
        panic!("expected a panic");
    };
    assert_eq!(
        (
            panicked.operation(),
            panicked.message().as_deref(),
            panicked.to_string().as_str()
        ),
        ("task", Some("no luck"), "task panicked: no luck")
    );
    assert_eq!(group.join_next().await.unwrap().unwrap(), 1);
    let closed = group.close().await;
    assert_eq!(counts(&closed), [1, 0, 2, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_goes_on_after_all_others_were_joined() {
    let gone = Arc::new(AtomicUsize::new(0));
    let mut group = Group::below(&request(1_000)).grace(ms(50));
    group.spawn(|_| async { panic!("first") });
    let slow = gone.clone();
    group.spawn_within(LONG, |cx| async move {
        let _gone = Gone(slow);
        cx.cancelled().await;
        sleep(ms(30)).await;
    });
    group.spawn_within(LONG, |_| stubborn(gone.clone()));
    yield_now().await;
    let start = Instant::now();
    let thrown = AssertUnwindSafe(group.close())
        .catch_unwind()
        .await
        .unwrap_err();
    assert_eq!(thrown.downcast_ref(), Some(&"first"));
    assert_eq!((gone.load(SeqCst), start.elapsed()), (2, ms(50)));
}

#[tokio::test(start_paused = true)]
async fn a_value_of_the_last_poll_is_a_value() {
    let mut group = Group::<u8>::below(&request(1_000)).grace(ms(0));
    // Aborted while it is being polled: by the very poll that is its last.
    let cx = group.context().clone();
    group.spawn(move |_| async move {
        yield_now().await;
        cx.cancel(Cause::UserCancelled);
        7
    });
    assert_eq!(group.join_next().await.unwrap().unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn nested_groups_are_closed_inside_out_within_one_grace() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let cx = request(10_000);
    let mut outer = Group::<()>::below(&cx).grace(ms(100));
    struct Says(&'static str, Arc<std::sync::Mutex<Vec<&'static str>>>);
    impl Drop for Says {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    let says = order.clone();
    outer.spawn(move |_| async move {
        let mut middle = Group::<()>::new().grace(ms(100));
        let inner_says = says.clone();
        middle.spawn(move |_| async move {
            let mut inner = Group::<()>::new().grace(ms(100));
            let leaf = inner_says.clone();
            inner.spawn_within(LONG, |_| async move {
                let _says = Says("leaf", leaf);
                stubborn(Arc::default()).await;
            });
            let _says = Says("inner", inner_says);
            pending().await
        });
        let _says = Says("middle", says);
        pending().await
    });
    sleep(ms(10)).await;
    let start = Instant::now();
    let closed = outer.close().await;
    assert_eq!(closed.orphans, 0);
    assert_eq!(start.elapsed(), ms(100));
    // The leaf needs the whole grace; what is around it gives its own things up at once, and is over after it.
    assert_eq!(*order.lock().unwrap(), ["middle", "inner", "leaf"]);
    assert_eq!(counts(&closed), [0, 1, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_group_is_closed_by_a_task_of_its_own() {
    let gone = Arc::new(AtomicUsize::new(0));
    let tracker = Tracker::new();
    let cx = Context::builder("request").tracker(&tracker).build();
    for closing in [false, true] {
        gone.store(0, SeqCst);
        let mut group = Group::below(&cx).grace(ms(50));
        let cause = Arc::new(std::sync::Mutex::new(None));
        let (seen, tidy) = (cause.clone(), gone.clone());
        group.spawn_within(LONG, |cx| async move {
            let _gone = Gone(tidy);
            *seen.lock().unwrap() = Some(cx.cancelled().await);
            sleep(ms(20)).await;
        });
        group.spawn_within(LONG, |_| stubborn(gone.clone()));
        yield_now().await;
        let start = Instant::now();
        if closing {
            let mut close = Box::pin(group.close());
            assert!(poll_here(close.as_mut()).await.is_pending());
            sleep(ms(10)).await;
            assert!(poll_here(close.as_mut()).await.is_pending());
        } else {
            drop(group);
        }
        let expected = if closing {
            Cause::UserCancelled
        } else {
            Cause::Abandoned
        };
        yield_now().await;
        yield_now().await;
        assert_eq!(*cause.lock().unwrap(), Some(expected));
        assert_eq!(tracker.stats().closing, 1);
        tracker.wait(ms(1_000)).await.unwrap();
        // The grace goes on where it was.
        assert_eq!((gone.load(SeqCst), start.elapsed()), (2, ms(50)));
        assert!(tracker.stats().is_idle());
    }
}

#[tokio::test(start_paused = true)]
async fn an_unwinding_group_ends_its_tasks() {
    let cx = request(1_000);
    let cause = Arc::new(std::sync::Mutex::new(None));
    let seen = cause.clone();
    let body = async {
        let mut group = Group::new();
        group.spawn_within(LONG, |cx| async move {
            *seen.lock().unwrap() = Some(cx.cancelled().await);
        });
        yield_now().await;
        if cx.remaining().is_some() {
            panic!("broken");
        }
    };
    let unwound = AssertUnwindSafe(cx.run(body)).catch_unwind().await;
    assert!(unwound.is_err());
    sleep(ms(1)).await;
    assert_eq!(*cause.lock().unwrap(), Some(Cause::ParentFailed));
}

#[test]
fn a_group_is_dropped_where_there_is_no_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let gone = Arc::new(AtomicUsize::new(0));
    let spawn = |group: &mut Group<()>| {
        let gone = Gone(gone.clone());
        group.spawn_within(LONG, |_| async move {
            let _gone = gone;
            pending().await
        });
    };
    // Never used; used, with the runtime still there; and after it.
    drop(Group::<()>::new());
    let (mut first, mut second) = (Group::new(), Group::new().grace(ms(0)));
    runtime.block_on(async {
        spawn(&mut first);
        spawn(&mut second);
        yield_now().await;
    });
    drop(second);
    runtime.block_on(async { sleep(ms(20)).await });
    assert_eq!(gone.load(SeqCst), 1);
    drop(runtime);
    assert_eq!(gone.load(SeqCst), 2);
    drop(first);
}

#[test]
fn closing_ends_also_when_the_runtime_is_gone() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut group = Group::<()>::new();
    runtime.block_on(async { group.spawn(|_| pending()) });
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let closed = other.block_on(group.close());
    assert_eq!(counts(&closed), [0, 0, 0, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_enforced_closing_ends_the_tasks_all_the_same() {
    for mode in [Mode::Off, Mode::Observe, Mode::Propagate] {
        let cx = Context::builder("request")
            .budget(Budget::new(ms(10)))
            .mode(mode)
            .build();
        let mut group = Group::below(&cx);
        group.spawn(|_| async { sleep(ms(50)).await });
        group.spawn(|_| pending());
        let start = Instant::now();
        // Not stopped by the deadline.
        assert!(group.join_next().await.unwrap().is_ok());
        assert_eq!(start.elapsed(), ms(50));
        let closed = group.close().await;
        assert_eq!(
            (counts(&closed), start.elapsed()),
            ([1, 0, 0, 1, 0], ms(50)),
            "{mode}"
        );
    }
}

#[tokio::test]
async fn only_the_future_has_to_be_send_and_static() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let local = std::rc::Rc::new(1);
    let borrowed = String::from("x");
    let mut group = Group::below(&Context::none());
    // The closure is called at once: it may borrow, and hold what must not be sent.
    group.spawn(|_| {
        let (length, count) = (borrowed.len(), *local);
        async move { length + count }
    });
    // A group is sent along whatever its tasks yield, as a set of tasks is.
    fn is_sync<T: Sync>(_: &T) {}
    is_sync(&group);
    let mut group = is_send(group);
    assert_eq!(is_send(group.join_next()).await.unwrap().unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_never_yields_is_an_orphan_and_keeps_its_place() {
    let tracker = Tracker::new();
    let cx = Context::builder("request").tracker(&tracker).build();
    let (release, stuck) = mpsc::channel::<()>();
    let (begun, begins) = tokio::sync::oneshot::channel();
    let mut group = Group::<()>::below(&cx).grace(ms(20)).limit(1);
    group.spawn(|_| async move {
        let _ = begun.send(());
        let _ = stuck.recv();
    });
    begins.await.unwrap();
    let start = std::time::Instant::now();
    // A second one waits for the place.
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    group.spawn(|_| async move { flag.store(true, SeqCst) });
    let closed = group.close().await;
    assert_eq!(counts(&closed), [0, 1, 0, 0, 1]);
    assert!(start.elapsed() < ms(5_000));
    assert_eq!(tracker.stats().orphan_tasks, 1);
    let report = cx.report().unwrap();
    assert_eq!((report.orphans, report.orphans_running), (1, 1));
    let left = tracker.wait(ms(10)).await.unwrap_err();
    assert_eq!(left.stats().orphan_tasks, 1);
    drop(release);
    tracker.wait(ms(5_000)).await.unwrap();
    let report = cx.report().unwrap();
    assert_eq!((report.orphans, report.orphans_running), (1, 0));
    assert!(!ran.load(SeqCst));
}

#[tokio::test(start_paused = true)]
async fn two_hundred_ties_have_one_cause() {
    for round in 0..200 {
        let cx = request(10);
        let mut group = Group::<()>::below(&cx);
        let cancels = cx.clone();
        let cancel = move || async move {
            sleep(ms(10)).await;
            cancels.cancel(Cause::ClientCancelled);
        };
        // Whichever timer is registered first.
        if round % 2 == 0 {
            tokio::spawn(cancel());
            yield_now().await;
            group.spawn(|_| pending());
        } else {
            group.spawn(|_| pending());
            yield_now().await;
            tokio::spawn(cancel());
        }
        let stopped = stop(group.join_next().await);
        assert_eq!(
            (stopped.cause(), stopped.limited_by().operation()),
            (Cause::DeadlineExceeded, "request")
        );
        assert_eq!(cx.cause(), Some(Cause::DeadlineExceeded));
    }
}

#[tokio::test(start_paused = true)]
async fn join_next_loses_nothing_when_it_is_dropped() {
    let mut group = Group::below(&request(100));
    group.spawn(|_| async {
        sleep(ms(5)).await;
        7
    });
    {
        let mut next = pin!(group.join_next());
        assert!(matches!(poll_here(next.as_mut()).await, Poll::Pending));
        sleep(ms(6)).await;
    }
    assert_eq!(group.join_next().await.unwrap().unwrap(), 7);
}

#[test]
fn a_group_prints_what_it_has() {
    let group = Group::<()>::below(&Context::none());
    assert_eq!(
        format!("{group:?}"),
        "Group { context: Context(group, unlimited), len: 0, running: 0, .. }"
    );
    fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<TaskError>();
    let _: fn() -> Group<()> = Group::default;
    fn future<F: Future>(_: &F) {}
    future(&group.close());
}
