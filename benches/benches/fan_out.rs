//! What a fan-out and a group cost beside `futures::try_join_all` and `tokio::task::JoinSet`, as ratios within one run.
//!
//! As in `overhead.rs`: in turns, many rounds each, the fastest round of each counts. Each operation runs ten branches to
//! their end inside a task of a current-thread runtime, so what wakes and schedules them is part of it. Neither yardstick
//! has a deadline, a cut-off, a cause or a partial answer; the last row adds the timeouts that come nearest.
//! `-- --only OPERATION N` runs one N times, for callgrind.
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "measures and prints; nobody calls it"
)]

use std::future::Future;
use std::hint::black_box;
use std::time::{Duration, Instant};

use deadline_benches::{Only, in_task, only};
use deadline_runtime::fan_out::{fan_out_all, optional, required};
use deadline_runtime::{Budget, Context, Group, Stopped};
use tokio::task::{JoinSet, yield_now};

const LONG: Duration = Duration::from_secs(600);
const BRANCHES: u64 = 10;
const OPERATIONS: u32 = 20;
const ROUNDS: u32 = 600;

/// Pending so many times, woken by the scheduler.
async fn work(pends: u32, value: u64) -> Result<u64, Stopped> {
    for _ in 0..pends {
        yield_now().await;
    }
    Ok(black_box(value))
}

async fn ours(pends: u32) -> u64 {
    let branches = (0..BRANCHES).map(|at| required("branch", work(pends, at)));
    fan_out_all(branches)
        .await
        .map_or(0, |page| page.values.into_iter().sum())
}

async fn ours_cut_off(pends: u32) -> u64 {
    let branches = (0..BRANCHES).map(|at| optional("branch", work(pends, at)).budget(LONG));
    let Ok(page) = fan_out_all(branches).await;
    page.values.into_iter().flatten().sum()
}

async fn joined(pends: u32) -> u64 {
    let branches = (0..BRANCHES).map(|at| work(pends, at));
    futures::future::try_join_all(branches)
        .await
        .map_or(0, |values| values.into_iter().sum())
}

async fn spawned(pends: u32) -> u64 {
    let mut set = JoinSet::new();
    for at in 0..BRANCHES {
        set.spawn(work(pends, at));
    }
    let mut sum = 0;
    while let Some(Ok(Ok(value))) = set.join_next().await {
        sum += value;
    }
    sum
}

async fn grouped(pends: u32) -> u64 {
    let mut group = Group::new();
    for at in 0..BRANCHES {
        group.spawn(move |_cx| work(pends, at));
    }
    let mut sum = 0;
    while let Some(Ok(Ok(value))) = group.join_next().await {
        sum += value;
    }
    black_box(group.close().await);
    sum
}

/// Ten tasks in the scope of the running request, joined by their handles.
async fn in_scope(pends: u32) -> u64 {
    let cx = Context::current();
    let tasks: Vec<_> = (0..BRANCHES)
        .map(|at| cx.spawn(move |_cx| work(pends, at)))
        .collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.ok().and_then(Result::ok).unwrap_or_default();
    }
    sum
}

async fn joined_with_timeouts(pends: u32) -> u64 {
    let branches = (0..BRANCHES).map(|at| tokio::time::timeout(LONG, work(pends, at)));
    let values = futures::future::join_all(branches).await;
    values.into_iter().flatten().flatten().sum()
}

/// Nanoseconds a branch.
async fn round<F: Future<Output = u64>>(operation: impl Fn(u32) -> F, pends: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..OPERATIONS {
        black_box(operation(black_box(pends)).await);
    }
    start.elapsed().as_nanos() as f64 / (f64::from(OPERATIONS) * BRANCHES as f64)
}

async fn row<A, B>(name: &str, pends: u32, ours: impl Fn(u32) -> A, theirs: impl Fn(u32) -> B)
where
    A: Future<Output = u64>,
    B: Future<Output = u64>,
{
    let mut best = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        best[0] = best[0].min(round(&ours, pends).await);
        best[1] = best[1].min(round(&theirs, pends).await);
    }
    let [ours, theirs] = best;
    println!(
        "| {name} | {ours:.0} ns | {theirs:.0} ns | {:.2} |",
        ours / theirs
    );
}

async fn rows() {
    println!("| ten branches, each: yardstick | deadline | yardstick | ratio |");
    println!("|---|---|---|---|");
    for (pends, what) in [(0, "ready"), (1, "one pend"), (4, "four pends")] {
        row(&format!("{what}: `try_join_all`"), pends, ours, joined).await;
        row(&format!("{what}: `JoinSet`"), pends, ours, spawned).await;
        row(
            &format!("{what}, a `Group`: `JoinSet`"),
            pends,
            grouped,
            spawned,
        )
        .await;
        let name = format!("{what}, `Context::spawn`: `JoinSet`");
        row(&name, pends, in_scope, spawned).await;
        let name = format!("{what}, a cut-off each: `join_all` of a `timeout` each");
        row(&name, pends, ours_cut_off, joined_with_timeouts).await;
    }
}

async fn repeat(only: Only) {
    for _ in 0..only.times {
        black_box(match only.operation.as_str() {
            "fan-out-ready" => ours(black_box(0)).await,
            "fan-out-pend" => ours(black_box(1)).await,
            "cut-off" => ours_cut_off(black_box(1)).await,
            "group" => grouped(black_box(1)).await,
            "spawn" => in_scope(black_box(1)).await,
            "join-set" => spawned(black_box(1)).await,
            "timeouts" => joined_with_timeouts(black_box(1)).await,
            "join-all-ready" => joined(black_box(0)).await,
            "join-all-pend" => joined(black_box(1)).await,
            operation => panic!("no operation {operation}"),
        });
    }
}

fn main() {
    // In a task and under a deadline, as a request is.
    let request = Context::root("request", Budget::new(LONG));
    let stopped = match only() {
        Some(only) => in_task(request.run(repeat(only))).is_err(),
        None => in_task(request.run(rows())).is_err(),
    };
    assert!(!stopped, "the deadline is long enough");
}
