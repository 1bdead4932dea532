//! Nothing stays registered, and what a scope costs on the heap and in its future.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::{Future, pending, ready};
use std::pin::Pin;

use common::{Woken, ms, poll};
use deadline_runtime::test_util::registered;
use deadline_runtime::{Budget, Cause, Context, Millis, Stopped, Unbudgeted};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

type Forever = Result<(), Stopped>;

fn counts(cx: &Context) -> (usize, usize) {
    let registered = registered(cx);
    (registered.children, registered.waiting)
}

#[tokio::test(start_paused = true)]
async fn a_million_children_leave_nothing_behind() {
    let root = Context::root("root", Budget::new(ms(1_000)));
    let mut kept = Vec::new();
    for index in 0..1_000_000 {
        let child = root.child(ms(10));
        // Some stay a little.
        if index % 1_000 == 0 {
            kept.push(child);
        }
        if kept.len() == 100 {
            kept.clear();
        }
    }
    kept.clear();
    assert_eq!(counts(&root), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn waiters_are_gone_with_what_waited() {
    let root = Context::root("root", Budget::new(ms(1_000)));
    // Dropped at random polls, in random order.
    let mut seed = 0x9e37_79b9_u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for _ in 0..50 {
        let (_, waker) = Woken::new();
        let mut all: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        for _ in 0..40 {
            let inner =
                root.enter(|| scoped!(Unbudgeted, "work", { await_!(pending::<Forever>()) }));
            let cx = root.clone();
            match random(4) {
                0 => all.push(Box::pin(async move { drop(inner.await) })),
                1 => all.push(Box::pin(async move { drop(cx.run(inner).await) })),
                2 => all.push(Box::pin(async move {
                    cx.cancelled().await;
                })),
                _ => all.push(Box::pin(async move {
                    let mut set: FuturesUnordered<_> = [inner].into_iter().collect();
                    let own = cx.child(ms(500));
                    drop(cx.run(own.run(async { set.next().await })).await);
                })),
            }
        }
        for _ in 0..100 {
            let index = usize::try_from(random(40)).unwrap();
            if let Some(future) = all.get_mut(index) {
                if future
                    .as_mut()
                    .poll(&mut std::task::Context::from_waker(&waker))
                    .is_ready()
                {
                    *future = Box::pin(pending());
                }
            }
        }
        while !all.is_empty() {
            let index = usize::try_from(random(all.len() as u64)).unwrap();
            drop(all.swap_remove(index));
        }
        assert_eq!(counts(&root), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn ends_of_every_kind_unregister() {
    let root = Context::root("root", Budget::new(ms(100)));
    let work = |takes| {
        root.enter(|| {
            scoped!(Millis<20>, "work", {
                let _ = Context::current();
                sleep(ms(takes)).await;
                Ok::<(), Stopped>(())
            })
        })
    };
    let mut tasks = JoinSet::new();
    for index in 0..100 {
        tasks.spawn(work(index));
    }
    yield_now().await;
    assert!(counts(&root).0 > 0);
    while tasks.join_next().await.is_some() {}
    assert_eq!(counts(&root), (0, 0));
    for index in 0..100 {
        tasks.spawn(work(index));
    }
    yield_now().await;
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    assert_eq!(counts(&root), (0, 0));
    // Cancelled: the wakers were handed out, the list stays empty.
    tasks.spawn(work(50));
    yield_now().await;
    root.cancel(Cause::Shutdown);
    assert_eq!(counts(&root).1, 0);
    while tasks.join_next().await.is_some() {}
    assert_eq!(counts(&root), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn one_waiter_a_task_however_deep() {
    let root = Context::root("root", Budget::new(ms(100)));
    let task = tokio::spawn(root.run(scoped!(Unbudgeted, "a", {
        scoped!(Unbudgeted, "b", {
            scoped!(Unbudgeted, "c", { await_!(pending::<Forever>()) }).await
        })
        .await
    })));
    yield_now().await;
    assert_eq!(counts(&root), (0, 1));
    task.abort();
    let _ = task.await;
    assert_eq!(counts(&root), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_finished_scope_that_is_kept_is_not_registered() {
    let root = Context::root("root", Budget::new(ms(100)));
    let (_, waker) = Woken::new();
    let mut ready = Box::pin(root.run(async { yield_now().await }));
    let mut stopped = Box::pin(root.run(pending::<()>()));
    assert!(poll(ready.as_mut(), &waker).is_pending());
    assert!(poll(stopped.as_mut(), &waker).is_pending());
    assert_eq!(counts(&root), (0, 2));
    assert!(poll(ready.as_mut(), &waker).is_ready());
    assert_eq!(counts(&root), (0, 1));
    tokio::time::advance(ms(100)).await;
    assert!(poll(stopped.as_mut(), &waker).is_pending());
    assert!(poll(stopped.as_mut(), &waker).is_ready());
    assert_eq!(counts(&root), (0, 0));
    drop((ready, stopped));
}

fn allocations(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).count_total
}

fn nested(depth: u8, pends: bool) -> u64 {
    let (_, waker) = Woken::new();
    let mut left = u8::from(pends);
    let body = std::future::poll_fn(move |cx| {
        if left == 0 {
            return std::task::Poll::Ready(Ok::<(), Stopped>(()));
        }
        left -= 1;
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    });
    macro_rules! measure {
        ($scope:expr) => {{
            let scope = std::pin::pin!($scope);
            let mut scope = scope;
            allocations(|| while poll(scope.as_mut(), &waker).is_pending() {})
        }};
    }
    macro_rules! wrap {
        ($inner:expr) => {
            scoped!(Millis<100>, "nested", { await_!($inner) })
        };
    }
    match depth {
        1 => measure!(wrap!(body)),
        2 => measure!(wrap!(wrap!(body))),
        3 => measure!(wrap!(wrap!(wrap!(body)))),
        _ => measure!(wrap!(wrap!(wrap!(wrap!(wrap!(wrap!(wrap!(wrap!(body))))))))),
    }
}

#[tokio::test(start_paused = true)]
async fn allocations_of_a_task_do_not_grow_with_its_depth() {
    // The thread's path of names, the clock, and the room for one timer, which is kept for the next scope that waits.
    nested(8, true);
    // Outermost alone: nothing.
    assert_eq!(nested(1, false), 0);
    assert_eq!(nested(1, true), 0);
    // With something inside: the request's node, however deep.
    for depth in [2, 3, 8] {
        assert_eq!(nested(depth, false), 1, "depth {depth}");
        assert_eq!(nested(depth, true), 1, "depth {depth}");
    }
}

/// What a scope has on the heap while it waits for a cancel and for nothing else: a million may do that.
#[tokio::test(start_paused = true)]
async fn a_wait_for_a_cancel_alone_takes_little() {
    let root = Context::root("root", Budget::inherited());
    let (_, waker) = Woken::new();
    let wait = || {
        root.enter(|| {
            Box::pin(scoped!(Unbudgeted, "work", {
                await_!(pending::<Forever>())
            }))
        })
    };
    // Counted in the request, and its place among the waiters.
    let mut first = wait();
    assert!(poll(first.as_mut(), &waker).is_pending());
    drop(first);
    let mut next = wait();
    let used = allocation_counter::measure(|| assert!(poll(next.as_mut(), &waker).is_pending()));
    assert_eq!(counts(&root), (0, 1));
    assert_eq!(used.count_total, 1);
    assert!(used.bytes_total <= 40, "{} bytes", used.bytes_total);
}

#[tokio::test(start_paused = true)]
async fn futures_grow_by_a_constant_a_level() {
    fn size<F: Future>(future: &F) -> usize {
        size_of_val(future)
    }
    macro_rules! wrap {
        ($inner:expr) => {
            scoped!(Unbudgeted, "nested", { await_!($inner) })
        };
    }
    let empty = async { Ok::<(), Stopped>(()) };
    let one = wrap!(ready(Ok::<(), Stopped>(())));
    let two = wrap!(wrap!(ready(Ok::<(), Stopped>(()))));
    let three = wrap!(wrap!(wrap!(ready(Ok::<(), Stopped>(())))));
    let four = wrap!(wrap!(wrap!(wrap!(ready(Ok::<(), Stopped>(()))))));
    let (a, b, c, d) = (size(&one), size(&two), size(&three), size(&four));
    println!(
        "driver {} node-bearing {:?}",
        size_of_val(&Context::none().cancelled()),
        size(&Context::none().run(ready(())))
    );
    println!("empty {} one {a} two {b} three {c} four {d}", size(&empty));
    assert_eq!((c - b, d - c), (b - a, b - a));
    assert!(b - a <= 64, "{} bytes a level", b - a);

    // A large local is not stored once more by the scopes around it.
    fn big() -> impl Future<Output = Result<usize, Stopped>> {
        scoped!(Unbudgeted, "big", {
            let big = [0_u8; 8192];
            yield_now().await;
            Ok(big.len())
        })
    }
    let inner = size(&big());
    let outer = size(&scoped!(Unbudgeted, "outer", { await_!(big()) }));
    assert!(inner < 8192 + 256, "{inner}");
    assert!(outer - inner <= b - a + 16, "{}", outer - inner);
}
