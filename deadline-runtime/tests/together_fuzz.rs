//! Calls that are admitted, hedged, retried, fanned out and streamed, dropped at random polls: every gauge is at zero afterwards.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

mod common;

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use common::{ms, poll_here};
use deadline_runtime::admission::Admission;
use deadline_runtime::fan_out::{fan_out, optional, required};
use deadline_runtime::hedge::{Hedge, HedgeBudget};
use deadline_runtime::retry::{Backoff, Retry, RetryBudget};
use deadline_runtime::stream::within_deadline;
use deadline_runtime::test_util::registered;
use deadline_runtime::{AttemptCounts, Budget, Cause, Context, Group, Tracker, deadline};
use futures::StreamExt as _;
use tokio::task::yield_now;
use tokio::time::sleep;

type Error = Box<dyn std::error::Error + Send + Sync>;

struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// What every call may leave behind.
#[derive(Clone)]
struct World {
    alive: Arc<AtomicUsize>,
    seed: Arc<AtomicUsize>,
    admission: Admission,
    retries: AttemptCounts,
    hedges: AttemptCounts,
    retry_budget: RetryBudget,
    hedge_budget: HedgeBudget,
}

struct One(Arc<AtomicUsize>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl World {
    fn one(&self) -> One {
        self.alive.fetch_add(1, SeqCst);
        One(self.alive.clone())
    }

    /// Another figure at every call, the same in every run.
    fn next(&self, below: u64) -> u64 {
        let turn = self.seed.fetch_add(1, SeqCst) as u64;
        let mut random = Random(turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.below(1 << 32);
        random.below(below)
    }
}

/// The bottom: a slot, a hook, some time, and one of three ends.
#[deadline(budget = "40ms")]
async fn call(world: World) -> Result<u64, Error> {
    let _one = world.one();
    let hook = world.one();
    Context::current().after_stop("call", move |_| async move {
        let _hook = hook;
        sleep(ms(3)).await;
    });
    let _slot = world.admission.enter().await?;
    sleep(ms(world.next(30))).await;
    match world.next(4) {
        0 => Err("broken".into()),
        1 => {
            pending::<()>().await;
            Ok(0)
        }
        value => Ok(value),
    }
}

#[deadline(budget = "120ms", reserve = "5ms")]
async fn retried(world: World) -> Result<u64, Error> {
    let (budget, counts) = (world.retry_budget.clone(), world.retries.clone());
    Retry::idempotent("retried")
        .backoff(Backoff::fixed(ms(2)))
        .attempt_cap(ms(35))
        .run(|_| call(world.clone()))
        .budget(&budget)
        .counts(&counts)
        .await
}

#[deadline(budget = "100ms")]
async fn hedged(world: World, spawned: bool) -> Result<u64, Error> {
    let mut hedge = Hedge::idempotent("hedged", ms(8)).attempts(3);
    if world.next(2) == 0 {
        hedge = hedge.join_losers();
    }
    let (budget, counts) = (world.hedge_budget.clone(), world.hedges.clone());
    if spawned {
        let hedging = hedge.run_spawned(move |_| call(world.clone()));
        return hedging.budget(&budget).counts(&counts).await;
    }
    let hedging = hedge.run(|_| call(world.clone()));
    hedging.budget(&budget).counts(&counts).await
}

#[deadline(budget = "90ms", cleanup = "10ms")]
async fn streamed(world: World) -> Result<u64, Error> {
    let one = world.one();
    let items = futures::stream::unfold((one, world), |(one, world)| async move {
        sleep(ms(world.next(12))).await;
        Some((1, (one, world)))
    });
    let mut items = pin!(within_deadline(items).per_item(ms(9)).total(ms(60)));
    let mut sum = 0;
    while let Some(item) = items.next().await {
        sum += item?;
    }
    Ok(sum)
}

#[deadline(budget = "200ms", reserve = "10ms")]
async fn page(world: World) -> Result<u64, Error> {
    let world_of = || world.clone();
    let mut group = Group::new().limit(1).queue(2);
    for _ in 0..4 {
        let world = world_of();
        let one = world.one();
        group.spawn_within(Budget::inherited().cleanup(ms(5)), move |_| async move {
            let _one = one;
            let _ = call(world).await;
        });
    }
    let page = fan_out((
        required("retried", retried(world_of())),
        optional("hedged", hedged(world_of(), false)),
        optional("spawned", hedged(world_of(), true)).spawned(),
        optional("streamed", streamed(world_of())).budget(ms(70)),
        optional("call", call(world_of())),
    ))
    .await?;
    match world.next(3) {
        0 => drop(group.finish().await),
        1 => drop(group.close().await),
        _ => drop(group),
    }
    Ok(page.values.0)
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_of_every_kind_dropped_at_random_polls_leave_every_gauge_at_zero() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let tracker = Tracker::new();
    let world = World {
        alive: Arc::default(),
        seed: Arc::default(),
        admission: Admission::builder("slots", 3).queue(2).build().unwrap(),
        retries: AttemptCounts::default(),
        hedges: AttemptCounts::default(),
        retry_budget: RetryBudget::default(),
        hedge_budget: HedgeBudget::default(),
    };
    let mut outcomes = [0_u32; 3];
    for round in 0..1_000 {
        let cx = Context::builder("request")
            .budget(Budget::new(ms(5 + random.below(200))))
            .grace(ms(random.below(30)))
            .tracker(&tracker)
            .build();
        let mut run: Pin<Box<dyn Future<Output = _>>> = Box::pin(cx.run(page(world.clone())));
        let mut outcome = 2;
        for _ in 0..random.below(40) {
            if let std::task::Poll::Ready(done) = poll_here(run.as_mut()).await {
                outcome = usize::from(!matches!(done, Ok(Ok(_))));
                break;
            }
            match random.below(8) {
                0 => yield_now().await,
                1 if random.below(12) == 0 => drop(cx.cancel(Cause::ClientCancelled)),
                _ => sleep(ms(random.below(9))).await,
            }
        }
        outcomes[outcome] += 1;
        drop(run);
        assert_eq!(tracker.stats().requests, 0, "round {round}");
        if let Err(left) = tracker.wait(ms(1_000)).await {
            panic!("round {round}: {left}");
        }
        assert_eq!(world.alive.load(SeqCst), 0, "round {round}");
        let left = registered(&cx);
        assert_eq!((left.children, left.waiting), (0, 0), "round {round}");
        assert_eq!(cx.report().unwrap().orphans_running, 0, "round {round}");
        let slots = world.admission.stats();
        assert_eq!((slots.in_use, slots.waiting), (0, 0), "round {round}");
        assert_eq!(slots.came, slots.admitted + slots.refused() + slots.left);
        // Every attempt was counted once, whatever became of it.
        for counts in [&world.retries, &world.hedges] {
            assert_eq!(counts.started(), counts.ended(), "round {round}");
        }
    }
    assert!(tracker.stats().is_idle());
    // It was not all the same: values, errors, drops, and attempts that followed others.
    println!("values, errors, drops: {outcomes:?}");
    println!("retries {:?}\nhedges {:?}", world.retries, world.hedges);
    println!("admission {:?}", world.admission.stats());
    assert!(outcomes.iter().all(|count| *count > 50), "{outcomes:?}");
    for counts in [&world.retries, &world.hedges] {
        let all = [
            counts.succeeded(),
            counts.failed(),
            counts.timed_out(),
            counts.cancelled(),
        ];
        assert!(all.iter().all(|count| *count > 50), "{counts:?}");
    }
}
