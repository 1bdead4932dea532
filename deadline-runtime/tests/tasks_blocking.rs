//! Blocking closures under a deadline. Threads take part, so time is real and slack is wide.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

mod common;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use common::{ms, poll_here};
use deadline_runtime::{Budget, Cause, Context, Phase, Stopped, Tracker, checkpoint};
use futures::FutureExt as _;
use tokio::sync::Semaphore;
use tokio::time::sleep;

const LONG: u64 = 60_000;
const PATIENCE: u64 = 10_000;

fn request(tracker: &Tracker, millis: u64) -> Context {
    Context::builder("request")
        .budget(Budget::new(ms(millis)))
        .request_id("r2")
        .tracker(tracker)
        .build()
}

/// One thread for blocking work, so that what is behind another closure is queued.
fn one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_closure_runs_in_the_context_of_whoever_waits_for_it() {
    let cx = request(&Tracker::new(), LONG);
    let outcome = cx.blocking(|cx| {
        assert_eq!(Context::current().request_id().as_deref(), Some("r2"));
        assert!(cx.remaining() <= Some(ms(LONG)));
        cx.check().map(|()| cx.request_id())
    });
    let id = outcome.await.unwrap().unwrap();
    assert_eq!(id.as_deref(), Some("r2"));
    // It may outlive its context, borrow nothing, and be used outside any.
    assert_eq!(Context::none().blocking(|_| 7).await.unwrap(), 7);
}

#[tokio::test]
async fn nothing_starts_in_a_stopped_context() {
    let cx = request(&Tracker::new(), LONG);
    cx.cancel(Cause::Shutdown);
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let stopped = cx
        .blocking(move |_| count.fetch_add(1, SeqCst))
        .await
        .unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::Shutdown, Phase::Start)
    );
    // And nothing before it is awaited.
    let count = begun.clone();
    let waits = request(&Tracker::new(), LONG).blocking(move |_| count.fetch_add(1, SeqCst));
    sleep(ms(20)).await;
    drop(waits);
    assert_eq!(begun.load(SeqCst), 0);
}

#[tokio::test]
async fn the_waiter_returns_at_the_deadline_and_the_closure_is_an_orphan_until_it_ends() {
    let tracker = Tracker::new();
    let cx = request(&tracker, 50);
    let (release, stuck) = mpsc::channel::<()>();
    let places = Arc::new(Semaphore::new(1));
    let start = Instant::now();
    let stopped = cx
        .blocking(move |cx| {
            let _ = stuck.recv();
            cx.cause()
        })
        .limit(&places)
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert!(start.elapsed() >= ms(50) && start.elapsed() < ms(PATIENCE));
    let report = cx.report().unwrap();
    assert_eq!((report.orphans, report.orphans_running), (1, 1));
    assert_eq!(tracker.stats().orphan_closures, 1);
    // The place is the closure's.
    assert_eq!(places.available_permits(), 0);
    drop(release);
    tracker.wait(ms(PATIENCE)).await.unwrap();
    let report = cx.report().unwrap();
    assert_eq!((report.orphans, report.orphans_running), (1, 0));
    assert_eq!(places.available_permits(), 1);
}

#[tokio::test]
async fn a_loop_in_a_closure_stops_at_its_next_check() {
    #[checkpoint]
    fn steps(count: &AtomicUsize) -> Result<(), Stopped> {
        for _ in 0..2_000 {
            count.fetch_add(1, SeqCst);
            std::thread::sleep(ms(10));
        }
        Ok(())
    }
    for by_hand in [true, false] {
        let tracker = Tracker::new();
        let cx = request(&tracker, LONG);
        let count = Arc::new(AtomicUsize::new(0));
        let counts = count.clone();
        let cancels = cx.clone();
        tokio::spawn(async move {
            sleep(ms(25)).await;
            cancels.cancel(Cause::ClientCancelled);
        });
        let stopped = cx
            .blocking(move |cx| {
                if by_hand {
                    while cx.check().is_ok() {
                        counts.fetch_add(1, SeqCst);
                        std::thread::sleep(ms(10));
                    }
                } else {
                    let _ = steps(&counts);
                }
            })
            .await
            .unwrap_err();
        assert_eq!(stopped.cause(), Cause::ClientCancelled);
        // It ends by itself.
        tracker.wait(ms(PATIENCE)).await.unwrap();
        assert!(count.load(SeqCst) < 2_000);
        assert_eq!(cx.report().unwrap().orphans_running, 0);
    }
}

#[test]
fn a_queued_closure_whose_waiter_has_left_never_runs() {
    one_thread().block_on(async {
        let tracker = Tracker::new();
        let cx = request(&tracker, LONG);
        let (release, stuck) = mpsc::channel::<()>();
        let first = tokio::spawn(cx.blocking(move |_| stuck.recv().is_err()));
        let ran = Arc::new(AtomicUsize::new(0));
        sleep(ms(20)).await;
        // Stopped in the queue, and dropped in it.
        let count = ran.clone();
        let short = cx.child(ms(20));
        let stopped = short.blocking(move |_| count.fetch_add(1, SeqCst)).await;
        assert_eq!(stopped.unwrap_err().cause(), Cause::DeadlineExceeded);
        let count = ran.clone();
        let mut dropped = Box::pin(cx.blocking(move |_| count.fetch_add(1, SeqCst)));
        assert!(poll_here(dropped.as_mut()).await.is_pending());
        drop(dropped);
        assert_eq!(cx.report().unwrap().orphans, 0);
        drop(release);
        assert!(first.await.unwrap().unwrap());
        // Behind them in the queue.
        cx.blocking(|_| ()).await.unwrap();
        assert_eq!(ran.load(SeqCst), 0);
        assert!(tracker.stats().is_idle());
    });
}

#[tokio::test]
async fn whoever_waits_for_a_place_does_not_begin_and_keeps_none() {
    let cx = request(&Tracker::new(), LONG);
    let places = Arc::new(Semaphore::new(1));
    let taken = places.clone().acquire_owned().await.unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let stopped = cx
        .child(ms(20))
        .blocking(move |_| count.fetch_add(1, SeqCst))
        .limit(&places)
        .await
        .unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    drop(taken);
    assert_eq!((ran.load(SeqCst), places.available_permits()), (0, 1));
    places.close();
    let stopped = cx.blocking(|_| ()).limit(&places).await.unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::Overload, Phase::Queue)
    );
}

#[tokio::test]
async fn a_panic_goes_on_in_the_waiter_and_leaves_nothing_behind() {
    let tracker = Tracker::new();
    let cx = request(&tracker, LONG);
    let places = Arc::new(Semaphore::new(1));
    let work = cx.blocking(|_| -> () { panic!("bad") }).limit(&places);
    let thrown = AssertUnwindSafe(work).catch_unwind().await.unwrap_err();
    assert_eq!(thrown.downcast_ref(), Some(&"bad"));
    assert_eq!(places.available_permits(), 1);
    assert!(tracker.stats().is_idle());

    // Of an orphan.
    let (release, stuck) = mpsc::channel::<()>();
    let mut work = Box::pin(cx.blocking(move |_| {
        let _ = stuck.recv();
        panic!("bad");
    }));
    while tracker.stats().orphan_closures == 0 {
        assert!(poll_here(work.as_mut()).await.is_pending());
        sleep(ms(20)).await;
        work = {
            drop(work);
            Box::pin(cx.blocking(|_| panic!("not begun")))
        };
    }
    drop((release, work));
    tracker.wait(ms(PATIENCE)).await.unwrap();
}
