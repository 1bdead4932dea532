//! How the cost grows: with nesting depth, with children in turn, with waiting tasks, with pending deadlines.
//!
//! `cargo bench -p deadline-benches --bench growth` prints the tables; `-- --svg FILE` also draws the cost over depth, and
//! `-- --most N` bounds the number of tasks (a million by default, which needs about two gigabytes). `-- --only cancelled N`
//! is N such tasks and nothing else, for callgrind; the other names are in [`CROWDS`], those of the yardsticks
//! `token-cancelled`, `token-dropped` and `timeout-dropped`.
#![allow(
    missing_docs,
    clippy::pedantic,
    reason = "measures and prints; nobody calls it"
)]

use std::future::{Future, pending, poll_fn};
use std::hint::black_box;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use deadline_benches::{Line, Only, Pend, draw, drive, fastest, only, runtime};
use deadline_runtime::{Budget, Cause, Stopped, deadline};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(600);

// Both are boxed at each level, as a chain of any depth has to be.

#[deadline(budget = "600s", boxed)]
async fn ours(depth: u32, pends: u32) -> Result<(), Stopped> {
    if depth == 1 {
        Pend(pends).await;
        Ok(())
    } else {
        ours(depth - 1, pends).await
    }
}

fn theirs(depth: u32, pends: u32) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let _ = if depth == 1 {
            timeout(LONG, Pend(pends)).await
        } else {
            timeout(LONG, theirs(depth - 1, pends)).await
        };
    })
}

#[deadline(budget = "600s")]
async fn child(pends: u32) -> Result<(), Stopped> {
    Pend(pends).await;
    Ok(())
}

#[deadline(budget = "600s")]
async fn in_turn(children: u32) -> Result<(), Stopped> {
    #[checkpoint(off)]
    for _ in 0..children {
        child(1).await?;
    }
    Ok(())
}

async fn timeouts_in_turn(children: u32) {
    for _ in 0..children {
        let _ = timeout(LONG, Pend(1)).await;
    }
}

fn depths(cx: &mut Context<'_>) -> [Line; 2] {
    println!("| depth, one pend | deadline | nested `timeout` | ratio |");
    println!("|---:|---:|---:|---:|");
    let mut lines = [
        Line {
            name: "deadline",
            points: Vec::new(),
        },
        Line {
            name: "nested tokio::time::timeout",
            points: Vec::new(),
        },
    ];
    for depth in [1, 2, 4, 8, 16, 32, 48, 64] {
        let [a, b] = fastest(
            cx,
            200,
            200,
            [
                &mut |cx: &mut Context<'_>| drop(drive(cx, black_box(ours(depth, 1)))),
                &mut |cx: &mut Context<'_>| drive(cx, black_box(theirs(depth, 1))),
            ],
        );
        println!("| {depth} | {a:.0} ns | {b:.0} ns | {:.2} |", a / b);
        lines[0].points.push((f64::from(depth), a));
        lines[1].points.push((f64::from(depth), b));
    }
    println!();
    lines
}

fn sequences(cx: &mut Context<'_>) {
    println!("| children in turn, one pend, each | deadline | `timeout` | ratio |");
    println!("|---:|---:|---:|---:|");
    for children in [1, 10, 100, 1_000] {
        let [a, b] = fastest(
            cx,
            200,
            (2_000 / children).max(1),
            [
                &mut |cx: &mut Context<'_>| drop(drive(cx, black_box(in_turn(children)))),
                &mut |cx: &mut Context<'_>| drive(cx, black_box(timeouts_in_turn(children))),
            ],
        )
        .map(|nanos| nanos / f64::from(children));
        println!("| {children} | {a:.0} ns | {b:.0} ns | {:.2} |", a / b);
    }
    println!();
}

/// Nanoseconds a task to start, to end, and bytes a task while it waits.
struct Crowd {
    start: f64,
    end: f64,
    bytes: f64,
}

impl Crowd {
    fn improve(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.min(other.end);
        self.bytes = self.bytes.min(other.bytes);
    }
}

/// Lets every task have its turn.
async fn settle(tasks: u32) {
    // A worker looks after itself every few dozen polls.
    for _ in 0..tasks / 16 + 4 {
        yield_now().await;
    }
}

fn crowd<T: Send + 'static>(
    tasks: u32,
    abandon: bool,
    spawn: impl Fn(&mut JoinSet<T>),
    end: impl FnOnce(),
) -> Crowd {
    let runtime = runtime();
    let each = |took: Duration| took.as_nanos() as f64 / f64::from(tasks);
    let begun = Instant::now();
    let start = || {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for _ in 0..tasks {
                spawn(&mut set);
            }
            settle(tasks).await;
            set
        })
    };
    let mut set = JoinSet::new();
    let bytes = allocation_counter::measure(|| set = start()).bytes_current;
    let start = each(begun.elapsed());
    let ended = Instant::now();
    runtime.block_on(async {
        if abandon {
            drop(set);
            settle(tasks).await;
        } else {
            end();
            while set.join_next().await.is_some() {}
        }
    });
    Crowd {
        start,
        end: each(ended.elapsed()),
        bytes: bytes as f64 / f64::from(tasks),
    }
}

#[deadline]
async fn waits() -> Result<(), Stopped> {
    pending().await
}

#[deadline(budget = "600s")]
async fn waits_so_long() -> Result<(), Stopped> {
    pending().await
}

/// What waits, and how it ends.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    row: &'static str,
    abandon: bool,
    run: fn(u32, bool) -> Crowd,
}

fn below_one_request(tasks: u32, abandon: bool) -> Crowd {
    let request = deadline_runtime::Context::root("request", Budget::inherited());
    let spawn = |set: &mut JoinSet<_>| {
        set.spawn(request.enter(waits));
    };
    crowd(tasks, abandon, spawn, || {
        let _ = request.cancel(Cause::UserCancelled);
    })
}

fn a_deadline_each_below_one_request(tasks: u32, abandon: bool) -> Crowd {
    let request = deadline_runtime::Context::root("request", Budget::inherited());
    let spawn = |set: &mut JoinSet<_>| {
        set.spawn(request.enter(waits_so_long));
    };
    crowd(tasks, abandon, spawn, || {
        let _ = request.cancel(Cause::UserCancelled);
    })
}

fn a_deadline_each(tasks: u32, abandon: bool) -> Crowd {
    let spawn = |set: &mut JoinSet<_>| {
        set.spawn(waits_so_long());
    };
    crowd(tasks, abandon, spawn, || ())
}

fn a_request_each(tasks: u32, abandon: bool) -> Crowd {
    let spawn = |set: &mut JoinSet<_>| {
        let request = deadline_runtime::Context::root("request", Budget::new(LONG));
        set.spawn(request.enter(waits));
    };
    crowd(tasks, abandon, spawn, || ())
}

fn one_token(tasks: u32, abandon: bool) -> Crowd {
    let token = CancellationToken::new();
    let spawn = |set: &mut JoinSet<()>| {
        let token = token.clone();
        set.spawn(async move {
            token.run_until_cancelled(pending::<()>()).await;
        });
    };
    crowd(tasks, abandon, spawn, || token.cancel())
}

fn a_timeout_each(tasks: u32, abandon: bool) -> Crowd {
    let spawn = |set: &mut JoinSet<()>| {
        set.spawn(async { drop(timeout(LONG, pending::<()>()).await) });
    };
    crowd(tasks, abandon, spawn, || ())
}

const TOKEN: Kind = Kind {
    name: "token",
    row: "one shared `CancellationToken`",
    abandon: false,
    run: one_token,
};
const TIMEOUT: Kind = Kind {
    name: "timeout",
    row: "a `timeout` each",
    abandon: true,
    run: a_timeout_each,
};

/// Ours, and what each is measured against.
const CROWDS: [(Kind, Kind); 6] = [
    (
        Kind {
            name: "cancelled",
            row: "cancelled",
            abandon: false,
            run: below_one_request,
        },
        TOKEN,
    ),
    (
        Kind {
            name: "dropped",
            row: "dropped",
            abandon: true,
            run: below_one_request,
        },
        Kind {
            abandon: true,
            ..TOKEN
        },
    ),
    (
        Kind {
            name: "deadlines",
            row: "a deadline each, dropped",
            abandon: true,
            run: a_deadline_each,
        },
        TIMEOUT,
    ),
    (
        Kind {
            name: "deadlines-below",
            row: "a deadline each below one request, dropped",
            abandon: true,
            run: a_deadline_each_below_one_request,
        },
        TIMEOUT,
    ),
    (
        Kind {
            name: "deadlines-below-cancelled",
            row: "a deadline each below one request, cancelled",
            abandon: false,
            run: a_deadline_each_below_one_request,
        },
        TOKEN,
    ),
    (
        Kind {
            name: "requests",
            row: "a request of its own each, with a deadline, dropped",
            abandon: true,
            run: a_request_each,
        },
        TIMEOUT,
    ),
];

fn crowds(most: u32) {
    println!(
        "| waiting tasks, each: yardstick | tasks | deadline | yardstick | ratio | start, until it waits | ratio | bytes | ratio |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (ours, theirs) in CROWDS {
        for tasks in [1_000, 10_000, 100_000, 1_000_000]
            .into_iter()
            .filter(|tasks| *tasks <= most)
        {
            let name = format!("{}: {}", ours.row, theirs.row);
            // In turns, and the fastest counts, as everywhere.
            let rounds = (300_000 / tasks).clamp(3, 20);
            let mut best = [ours, theirs].map(|kind| (kind.run)(tasks, kind.abandon));
            for _ in 1..rounds {
                for (kind, best) in [ours, theirs].into_iter().zip(&mut best) {
                    best.improve(&(kind.run)(tasks, kind.abandon));
                }
            }
            let [ours, theirs] = best;
            println!(
                "| {name} | {tasks} | {:.0} ns | {:.0} ns | {:.2} | {:.0} / {:.0} ns | {:.2} | {:.0} / {:.0} | {:.2} |",
                ours.end,
                theirs.end,
                ours.end / theirs.end,
                ours.start,
                theirs.start,
                ours.start / theirs.start,
                ours.bytes,
                theirs.bytes,
                ours.bytes / theirs.bytes
            );
        }
    }
    println!();
}

fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|given| given != name).nth(1)
}

/// One crowd and nothing else.
fn alone(only: &Only) {
    let kinds = CROWDS.into_iter().flat_map(|(ours, theirs)| [ours, theirs]);
    let mut kinds = kinds.filter(|kind| {
        let end = if kind.abandon { "dropped" } else { "cancelled" };
        kind.name == only.operation || format!("{}-{end}", kind.name) == only.operation
    });
    let kind = kinds
        .next()
        .unwrap_or_else(|| panic!("no operation {}", only.operation));
    let _ = black_box((kind.run)(only.times, kind.abandon));
}

fn main() {
    if let Some(only) = only() {
        return alone(&only);
    }
    let most = argument("--most").map_or(1_000_000, |most| {
        most.parse().expect("--most takes a number of tasks")
    });
    let lines = runtime().block_on(async {
        tokio::spawn(poll_fn(|cx| {
            let lines = depths(cx);
            sequences(cx);
            Poll::Ready(lines)
        }))
        .await
        .expect("the task runs to its end")
    });
    crowds(most);
    if let Some(file) = argument("--svg") {
        // cargo runs a benchmark in the folder of its package.
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let labels = (
            "A nested scope that pends once",
            "nesting depth",
            "nanoseconds",
        );
        draw(&file, labels, &lines).expect("the picture can be written");
        println!("{}", file.display());
    }
}
