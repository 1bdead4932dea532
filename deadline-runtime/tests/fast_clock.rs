//! The processor's counter as the clock (feature `fast-clock`), in real time. Together with `test-util` it is tokio's clock, of which
//! all this is true as well.
#![allow(missing_docs, clippy::pedantic)]

use std::convert::Infallible;
use std::future::pending;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deadline_runtime::http::{
    DeadlineLayer, HeaderSet, InternalHosts, Policy, PropagateDeadlineLayer, Trust,
};
use deadline_runtime::{Budget, Cause, Context, Deadline, Stopped, deadline, timeout};
use http::{Request, Response};
use http_body_util::Empty;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};

/// What a busy machine may take longer.
const SLACK: Duration = Duration::from_secs(5);

/// What timers may be early by, and instants be off.
const FINE: Duration = Duration::from_millis(2);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn both() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_time().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap(),
    ]
}

#[test]
fn it_never_goes_back() {
    let mut last = Deadline::now();
    for _ in 0..1_000_000 {
        let now = Deadline::now();
        assert!(now >= last);
        last = now;
    }
    let end = last.instant();
    for _ in 0..1_000 {
        last = last.max(Deadline::now());
        assert!(last.instant() >= end);
    }
}

/// What lies between two reads of one clock is at least what lies between two reads of the other, made in between.
#[test]
fn it_runs_as_fast_as_tokios() {
    let (outer, count, inner) = (Instant::now(), Deadline::now(), Instant::now());
    thread::sleep(ms(500));
    let inner = Instant::now() - inner;
    let count = Deadline::now().since(count);
    let outer = Instant::now() - outer;
    let tolerance = outer / 500;
    assert!(count + tolerance >= inner, "{count:?}, {inner:?}");
    assert!(count <= outer + tolerance, "{count:?}, {outer:?}");
}

#[test]
fn instants_survive_the_round_trip() {
    let now = Instant::now();
    let year = ms(365 * 24 * 3_600_000);
    for ahead in [
        Duration::ZERO,
        ms(1),
        ms(30),
        ms(5_000),
        ms(3_600_000),
        year,
    ] {
        let at = now + ahead;
        let there = Deadline::at(at);
        let back = there.instant();
        let off = back.max(at) - back.min(at);
        assert!(off < FINE, "{ahead:?} is off by {off:?}");
        assert!(there.remaining() <= ahead + FINE);
        assert!(there.remaining() + SLACK >= ahead);
        let again = Deadline::at(back);
        assert!(again.since(there).max(there.since(again)) < FINE);
    }
    let Some(before) = now.checked_sub(ms(1_000)) else {
        return;
    };
    assert!(Deadline::at(before).is_expired());
    let ago = now - Deadline::at(before).instant();
    assert!(ago > ms(1_000) - FINE && ago < ms(1_000) + FINE, "{ago:?}");
}

#[test]
fn timers_are_neither_early_nor_much_late() {
    for runtime in both() {
        runtime.block_on(async {
            for budget in [50, 51, 53, 110, 250].map(ms) {
                let (tokios, ours) = (Instant::now(), Deadline::now());
                let stopped = timeout(budget, pending::<()>()).await.unwrap_err();
                let took = Deadline::now().since(ours);
                assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
                assert!(stopped.elapsed() >= budget, "{budget:?}: {stopped:?}");
                assert!(took >= budget && took < budget + SLACK, "{took:?}");
                assert!(tokios.elapsed() + FINE >= budget);
                assert!(tokios.elapsed() < budget + SLACK);
            }
        });
    }
}

/// Between two timers the thread's pair of clocks becomes old, or is another thread's.
#[test]
fn many_scopes_at_once_end_in_time() {
    for runtime in both() {
        runtime.block_on(async {
            let tasks = (50..350u64).map(|millis| {
                tokio::spawn(async move {
                    let start = Deadline::now();
                    let stopped = timeout(ms(millis), pending::<()>()).await.unwrap_err();
                    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
                    (ms(millis), Deadline::now().since(start))
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                let (budget, took) = task.await.unwrap();
                assert!(
                    took >= budget && took < budget + SLACK,
                    "{budget:?}: {took:?}"
                );
            }
        });
    }
}

/// Without a runtime a thread of ours wakes, by the system's clock.
#[test]
fn outside_a_runtime_as_well() {
    let start = Deadline::now();
    let stopped = futures::executor::block_on(timeout(ms(30), pending::<()>())).unwrap_err();
    let took = Deadline::now().since(start);
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert!(took >= ms(30) && took < ms(30) + SLACK, "{took:?}");
}

#[deadline(budget = "5s", reserve = "1s")]
async fn whole() -> Result<Duration, Stopped> {
    let before = Context::current().remaining().unwrap();
    let stopped = part().await.unwrap_err();
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    let after = Context::current().remaining().unwrap();
    Ok(before - after)
}

#[deadline(budget = "80ms")]
async fn part() -> Result<(), Stopped> {
    leaf().await
}

#[deadline]
async fn leaf() -> Result<(), Stopped> {
    pending::<()>().await;
    Ok(())
}

#[test]
fn a_whole_scope_stops_in_time() {
    for runtime in both() {
        let start = std::time::Instant::now();
        let spent = runtime.block_on(whole()).unwrap();
        assert!(start.elapsed() + FINE >= ms(80));
        assert!(spent >= ms(80), "{spent:?}");
        assert!(spent <= start.elapsed() + FINE, "{spent:?}");
    }
}

#[deadline(budget = "30ms")]
async fn grinds(done: &AtomicUsize) -> Result<(), Stopped> {
    loop {
        thread::sleep(ms(1));
        done.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_loop_that_computes_ends_by_it() {
    for runtime in both() {
        let done = AtomicUsize::new(0);
        let start = std::time::Instant::now();
        let stopped = runtime.block_on(grinds(&done)).unwrap_err();
        assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
        assert!(start.elapsed() + FINE >= ms(30));
        assert!(done.load(Relaxed) <= 30);
    }
}

/// The date of a request, and what the next service is told.
#[test]
fn the_headers_say_what_is_left() {
    let [runtime, _] = both();
    let told = runtime.block_on(async {
        let policy = Policy::new()
            .max(ms(60_000))
            .reserve(ms(10_000))
            .trust(Trust::Full)
            .headers(HeaderSet::ABSOLUTE);
        let inner = service_fn(|_| async {
            sleep(ms(100)).await;
            let client = PropagateDeadlineLayer::new(InternalHosts::new(["next"])).layer(
                service_fn(|request: Request<()>| async move {
                    let told = request.headers()["x-request-timeout-ms"].clone();
                    Ok::<_, Infallible>(Response::new(told))
                }),
            );
            let request = Request::builder().uri("http://next/").body(()).unwrap();
            let told = client
                .oneshot(request)
                .await
                .unwrap()
                .into_body()
                .into_inner();
            let told: u64 = told.unwrap().to_str().unwrap().parse().unwrap();
            let left = Context::current().remaining().unwrap();
            assert!(
                left <= ms(told) + FINE && ms(told) < left + SLACK,
                "{told}, {left:?}"
            );
            let mut answer = Response::new(Empty::<bytes::Bytes>::new());
            answer.headers_mut().insert("told", told.into());
            Ok::<_, Infallible>(answer)
        });
        let date = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + ms(30_000);
        let request = Request::builder()
            .header("x-request-deadline", date.as_millis().to_string())
            .body(Empty::<bytes::Bytes>::new())
            .unwrap();
        let layer = DeadlineLayer::new("test", policy);
        let answer = layer.layer(inner).oneshot(request).await.unwrap();
        answer.headers()["told"].to_str().unwrap().parse().unwrap()
    });
    // 30 s, less the reserve and what was slept.
    let told = ms(told);
    assert!(told <= ms(19_900) && told + SLACK > ms(19_900), "{told:?}");
}

#[test]
fn what_a_context_says_of_time_is_one_clock() {
    let [runtime, _] = both();
    runtime.block_on(async {
        let cx = Context::root("request", Budget::new(ms(60_000)));
        let deadline = cx.deadline().unwrap();
        let at = deadline.instant();
        let ahead = at - Instant::now();
        assert!(
            ahead <= ms(60_000) + FINE && ahead + SLACK >= ms(60_000),
            "{ahead:?}"
        );
        sleep(ms(50)).await;
        let left = cx.remaining().unwrap();
        assert!(
            left <= ms(59_950) + FINE && left + SLACK >= ms(59_950),
            "{left:?}"
        );
        let moved = deadline.instant();
        assert!(moved.max(at) - moved.min(at) < FINE);
    });
}

/// In a process of its own, for what that prints.
#[test]
fn a_paused_clock_is_followed_or_said_to_be_none() {
    const ALONE: &str = "DEADLINE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        let mut paused = Builder::new_current_thread();
        let paused = paused.enable_time().start_paused(true).build().unwrap();
        for _ in 0..3 {
            let ended = paused.block_on(timeout(ms(50), pending::<()>()));
            assert_eq!(ended.unwrap_err().cause(), Cause::DeadlineExceeded);
        }
        return;
    }
    let alone = Command::new(std::env::current_exe().unwrap())
        .args([
            "a_paused_clock_is_followed_or_said_to_be_none",
            "--exact",
            "--nocapture",
        ])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&alone.stdout);
    let err = String::from_utf8_lossy(&alone.stderr);
    assert!(
        alone.status.success() && out.contains("1 passed"),
        "{out}{err}"
    );
    let said = err.matches("tokio's clock is paused").count();
    if cfg!(feature = "test-util") {
        assert_eq!(said, 0, "{err}");
    } else {
        assert_eq!(said, 1, "{err}");
        assert!(
            err.contains("enable its feature `test-util` for tests"),
            "{err}"
        );
    }
}
