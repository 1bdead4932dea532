//! Many tasks at once, in real time: never early, always over, and how late is printed (`--nocapture`).
//!
//! The bounds are those of correctness; what is measured is reported, not judged.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

mod common;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::ms;
use deadline_runtime::{Budget, Cause, Context, Stopped, deadline};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{interval, sleep};

/// So late that something is broken rather than busy.
const LOST: Duration = Duration::from_secs(20);

/// The same numbers on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn percentiles(mut late: Vec<Duration>, of: &str) {
    late.sort();
    let at = |share: usize| late[(late.len() - 1) * share / 100];
    println!(
        "{of}: {} stops, late by p50 {:?}, p99 {:?}, at most {:?}",
        late.len(),
        at(50),
        at(99),
        at(100)
    );
}

#[deadline]
async fn waits(kind: u64) -> Result<(), Stopped> {
    match kind {
        0 => pending().await,
        1 => sleep(ms(60_000)).await,
        2 => {
            // Its own wakers, in their own order.
            let mut many: FuturesUnordered<_> = (0..4).map(|_| leaf()).collect();
            while let Some(ended) = many.next().await {
                ended?;
            }
        }
        3 => {
            // Always ready: the cooperative budget is used up before a timer is asked.
            loop {
                yield_now().await;
            }
        }
        4 => {
            let mut ticks = interval(ms(1));
            loop {
                ticks.tick().await;
            }
        }
        _ => nested(6).await?,
    }
    Ok(())
}

#[deadline]
async fn leaf() -> Result<(), Stopped> {
    pending().await
}

#[deadline(boxed)]
async fn nested(depth: u32) -> Result<(), Stopped> {
    match depth {
        0 => pending().await,
        depth => nested(depth - 1).await,
    }
}

/// Two thousand tasks with limits from 1 to 400 ms, a tenth of them cancelled: each ends once, for the right cause, and
/// none before its time.
#[test]
fn two_thousand_tasks_end_on_many_threads() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        let mut tasks = JoinSet::new();
        for _ in 0..2_000 {
            let budget = ms(1 + dice.roll(400));
            let kind = dice.roll(6);
            let cancel = (dice.roll(10) == 0).then(|| ms(dice.roll(400)));
            tasks.spawn(async move {
                let started = Instant::now();
                let request = Context::root("request", Budget::new(budget));
                if let Some(after) = cancel {
                    let request = request.clone();
                    tokio::spawn(async move {
                        sleep(after).await;
                        request.cancel(Cause::UserCancelled)
                    });
                }
                let future = request.enter(|| waits(kind));
                let stopped = request.run(future).await.and_then(|own| own).unwrap_err();
                (started.elapsed(), stopped.cause(), budget, cancel)
            });
        }
        let (mut late, mut cancelled) = (Vec::new(), 0);
        while let Some(ended) = tasks.join_next().await {
            let (took, cause, budget, cancel) = ended.unwrap();
            match cause {
                Cause::DeadlineExceeded => {
                    assert!(took >= budget, "stopped after {took:?} of {budget:?}");
                    late.push(took - budget);
                }
                Cause::UserCancelled => {
                    let after = cancel.expect("nobody cancelled it");
                    assert!(took >= after);
                    cancelled += 1;
                    late.push(took - after);
                }
                // With less than a millisecond left nothing is begun any more: refused before the end, and by no more.
                Cause::LocalBudgetRejected => {
                    assert!(
                        took + ms(1) >= budget,
                        "refused after {took:?} of {budget:?}"
                    );
                    late.push(took.saturating_sub(budget));
                }
                other => panic!("{other}"),
            }
        }
        assert_eq!(late.len(), 2_000);
        assert!(late.iter().all(|late| *late < LOST));
        println!("{cancelled} of them were cancelled");
        percentiles(late, "2,000 tasks on four threads");
    });
}

/// The timers of ten thousand tasks are late, because their thread was busy: each stops at its next poll, and no value is
/// made up.
#[test]
fn ten_thousand_tasks_with_late_timers_stop() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let begun = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for n in 0..10_000_u64 {
            let begun = begun.clone();
            tasks.spawn(async move {
                let request = Context::root("request", Budget::new(ms(500 + n % 100)));
                begun.fetch_add(1, Relaxed);
                let future = request.enter(|| waits(n % 2));
                request.run(future).await.and_then(|own| own)
            });
        }
        // Every task has been polled once and waits; then the thread is gone for longer than any of them has.
        while begun.load(Relaxed) < 10_000 {
            yield_now().await;
        }
        std::thread::sleep(ms(1_000));
        let resumed = Instant::now();
        let mut late = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            assert_eq!(ended.unwrap().unwrap_err().cause(), Cause::DeadlineExceeded);
            late.push(resumed.elapsed());
        }
        assert_eq!(late.len(), 10_000);
        assert!(late.iter().all(|late| *late < LOST));
        percentiles(late, "10,000 tasks after their thread came back");
    });
}

/// Whoever is woken by something else sees by the clock that the time is over, although no timer has fired.
#[test]
fn the_clock_stops_them_where_no_timer_gets_a_turn() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let request = Context::root("request", Budget::new(ms(20)));
        let steps = AtomicUsize::new(0);
        let started = Instant::now();
        let busy = request.run(async {
            loop {
                // Its own waker, so that the driver of the timers is not reached between two turns.
                std::thread::sleep(ms(1));
                steps.fetch_add(1, Relaxed);
                yield_now().await;
            }
        });
        let stopped: Stopped = busy.await.map(|never: ()| never).unwrap_err();
        assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
        assert!(started.elapsed() >= ms(20));
        // A step is at least a millisecond; the one that crosses the limit, and one more poll with the stop visible.
        assert!(steps.load(Relaxed) <= 22, "{} steps", steps.load(Relaxed));
    });
}
