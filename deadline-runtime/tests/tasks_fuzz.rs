//! Requests that are dropped at random polls leave nothing behind: every gauge comes back to zero.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

mod common;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use common::{ms, poll_here};
use deadline_runtime::test_util::registered;
use deadline_runtime::{Budget, Cause, Context, Group, Stopped, Tracker, deadline};
use tokio::task::yield_now;
use tokio::time::sleep;

/// Everything that a scope may leave behind, alive as long as this is.
#[derive(Clone)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    fn one(&self) -> One {
        self.0.fetch_add(1, SeqCst);
        One(self.0.clone())
    }
}

struct One(Arc<AtomicUsize>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

const TIDIES: Budget = Budget::inherited().cleanup(std::time::Duration::from_millis(20));

#[deadline(budget = "60ms")]
async fn leaf(alive: Alive, takes: u64) -> Result<(), Stopped> {
    let cx = Context::current();
    let (task, tidy, hook) = (alive.one(), alive.one(), alive.one());
    drop(cx.spawn(|_| async move {
        let _task = task;
        sleep(ms(takes)).await;
    }));
    drop(cx.spawn_within(TIDIES, |cx| async move {
        let _tidy = tidy;
        cx.cancelled().await;
        sleep(ms(takes)).await;
    }));
    cx.after_stop("leaf", move |_| async move {
        let _hook = hook;
        sleep(ms(takes)).await;
    });
    sleep(ms(takes)).await;
    Ok(())
}

#[deadline(budget = "80ms", reserve = "10ms")]
async fn middle(alive: Alive, takes: [u64; 4]) -> Result<(), Stopped> {
    let mut group = Group::new().limit(2);
    for (index, takes) in takes.into_iter().enumerate() {
        let alive = alive.clone();
        let one = alive.one();
        group.spawn_within(TIDIES, move |cx| async move {
            let _one = one;
            if index == 0 {
                let _ = leaf(alive, takes).await;
            }
            if takes % 7 == 3 {
                let entry = alive_in(&cx, takes);
                drop(entry);
            }
            sleep(ms(takes)).await;
        });
    }
    leaf(alive, takes[1]).await?;
    while takes[2] % 2 == 0 && group.join_next().await.is_some() {}
    if takes[3] % 2 == 0 {
        group.close().await;
    }
    Ok(())
}

fn alive_in(cx: &Context, takes: u64) -> impl Sized {
    (
        cx.critical("entry", ms(30), |_| sleep(ms(takes))),
        cx.detach("audit", ms(30), || sleep(ms(takes))),
    )
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests_dropped_at_random_polls_leave_every_gauge_at_zero() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let tracker = Tracker::new();
    for round in 0..1_000 {
        let alive = Alive::new();
        let cx = Context::builder("request")
            .budget(Budget::new(ms(10 + random.below(100))))
            .grace(ms(random.below(40)))
            .tracker(&tracker)
            .build();
        let mut takes = || random.below(50);
        let takes = [takes(), takes(), takes(), takes()];
        let (inside, kept) = (alive.clone(), cx.clone());
        let mut run: Pin<Box<dyn Future<Output = ()>>> = Box::pin(
            cx.run(async move {
                let hook = inside.one();
                kept.after_stop("request", move |_| async move { drop(hook) });
                let _ = middle(inside, takes).await;
                if takes[0] % 3 == 0 {
                    pending::<()>().await;
                }
            })
            .map_into_unit(),
        );
        let polls = random.below(12);
        let mut done = false;
        for _ in 0..polls {
            if poll_here(run.as_mut()).await.is_ready() {
                done = true;
                break;
            }
            match random.below(4) {
                0 => yield_now().await,
                1 if random.below(8) == 0 => drop(cx.cancel(Cause::ClientCancelled)),
                _ => sleep(ms(random.below(15))).await,
            }
        }
        if polls > 9 && !done {
            run.as_mut().await;
        }
        drop(run);
        assert_eq!(tracker.stats().requests, 0, "round {round}");
        if let Err(left) = tracker.wait(ms(1_000)).await {
            panic!("round {round}: {left}");
        }
        assert_eq!(alive.0.load(SeqCst), 0, "round {round}");
        let registered = registered(&cx);
        assert_eq!(
            (registered.children, registered.waiting),
            (0, 0),
            "round {round}"
        );
        assert_eq!(cx.report().unwrap().orphans_running, 0);
    }
    assert!(tracker.stats().is_idle());
}

trait IntoUnit: Future + Sized {
    async fn map_into_unit(self) {
        let _ = self.await;
    }
}

impl<F: Future> IntoUnit for F {}
