//! Slots, the line in front of them, and who is refused.
#![allow(missing_docs, clippy::pedantic)]

mod common;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use common::ms;
use deadline_runtime::admission::{Admission, AdmissionBuilder, AdmissionStats, Slot};
use deadline_runtime::{Budget, Cause, Context, Phase, Stopped};
use proptest::prelude::*;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

fn build(builder: AdmissionBuilder) -> Admission {
    builder.build().unwrap()
}

async fn enter(admission: &Admission, budget: Duration) -> Result<Slot, Stopped> {
    let request = Context::root("request", Budget::new(budget));
    let entering = request.enter(|| admission.enter());
    request.run(entering).await.and_then(|own| own)
}

/// An admission of one whose slot is usually held for 100 ms.
async fn usually_100ms(builder: AdmissionBuilder) -> Admission {
    let admission = build(builder);
    let slot = enter(&admission, ms(1_000)).await.unwrap();
    sleep(ms(100)).await;
    drop(slot);
    admission
}

fn adds_up(stats: AdmissionStats) {
    let waiting = u64::try_from(stats.waiting).unwrap();
    assert_eq!(
        stats.came,
        stats.admitted + stats.refused() + stats.left + waiting,
        "{stats:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slot_comes_back_however_the_work_ends() {
    let admission = build(Admission::builder("work", 1).queue(0));
    assert!(enter(&admission, ms(100)).await.is_ok());

    let failed: Result<(), Stopped> = async {
        let _slot = enter(&admission, ms(100)).await?;
        Context::root("other", Budget::new(ms(0))).check()
    }
    .await;
    assert!(failed.is_err());

    let work = admission.clone();
    let panicked = tokio::spawn(async move {
        let _slot = enter(&work, ms(100)).await;
        panic!("on purpose");
    });
    assert!(panicked.await.unwrap_err().is_panic());

    let dropped = timeout(ms(10), async {
        let _slot = enter(&admission, ms(100)).await;
        pending::<()>().await
    });
    assert!(dropped.await.is_err());

    let stats = admission.stats();
    assert_eq!((stats.in_use, stats.admitted, stats.refused()), (0, 4, 0));
    adds_up(stats);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_leaves_too_little_is_refused_at_once_and_equality_waits() {
    let admission = usually_100ms(Admission::builder("reports", 1).min(ms(50))).await;
    let held = enter(&admission, ms(1_000)).await.unwrap();

    let start = Instant::now();
    let refused = enter(&admission, ms(149)).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(
        (refused.cause(), refused.phase()),
        (Cause::Overload, Phase::Queue)
    );
    assert_eq!(refused.needed(), Some((ms(150), ms(149))));
    let text = refused.to_string();
    assert!(
        text.starts_with("reports refused: overload: needs 150ms, has 149ms, limited by reports ("),
        "{text}"
    );

    // Exactly enough: it waits, and gets what it waited for.
    let (waiting, ()) = tokio::join!(enter(&admission, ms(150)), async {
        sleep(ms(60)).await;
        drop(held);
    });
    assert!(waiting.is_ok());
    assert_eq!(start.elapsed(), ms(60));
    let stats = admission.stats();
    assert_eq!((stats.admitted, stats.not_worth_it), (3, 1));
    adds_up(stats);
}

/// Who has time enough is held against the longest wait, and told so.
#[tokio::test(start_paused = true)]
async fn an_expected_wait_beyond_the_longest_one_is_refused_for_that() {
    let admission = usually_100ms(Admission::builder("reports", 1).max_wait(ms(99))).await;
    let _held = enter(&admission, ms(1_000)).await.unwrap();
    let refused = enter(&admission, ms(10_000)).await.unwrap_err();
    assert_eq!(refused.needed(), Some((ms(100), ms(99))));
    assert_eq!(admission.stats().not_worth_it, 1);
}

#[tokio::test(start_paused = true)]
async fn those_before_in_the_line_count() {
    let admission = usually_100ms(Admission::builder("reports", 1)).await;
    let _held = enter(&admission, ms(10_000)).await.unwrap();
    let mut line = Vec::new();
    for _ in 0..3 {
        let admission = admission.clone();
        line.push(tokio::spawn(async move {
            enter(&admission, ms(10_000)).await.map(drop)
        }));
        yield_now().await;
    }
    assert_eq!(admission.stats().waiting, 3);
    // Three before it: 400 ms.
    let refused = enter(&admission, ms(399)).await.unwrap_err();
    assert_eq!(refused.needed(), Some((ms(400), ms(399))));
    for waiting in line {
        waiting.abort();
        let _ = waiting.await;
    }
    // They have left, and are not counted as refused.
    let stats = admission.stats();
    assert_eq!((stats.waiting, stats.left, stats.refused()), (0, 3, 1));
    adds_up(stats);
}

#[tokio::test(start_paused = true)]
async fn the_line_is_bounded_and_so_is_the_wait() {
    let admission = build(Admission::builder("reports", 1).queue(1).max_wait(ms(200)));
    let _held = enter(&admission, ms(10_000)).await.unwrap();
    let first = {
        let admission = admission.clone();
        tokio::spawn(async move { enter(&admission, ms(10_000)).await.map(drop) })
    };
    yield_now().await;
    let full = enter(&admission, ms(10_000)).await.unwrap_err();
    assert_eq!((full.cause(), full.needed()), (Cause::Overload, None));
    let start = Instant::now();
    let vain = first.await.unwrap().unwrap_err();
    assert_eq!(start.elapsed(), ms(200));
    assert_eq!(
        (vain.cause(), vain.phase()),
        (Cause::Overload, Phase::Queue)
    );
    assert_eq!(vain.elapsed(), ms(200));
    let stats = admission.stats();
    assert_eq!((stats.line_full, stats.waited_in_vain), (1, 1));
    adds_up(stats);
}

/// Nothing is known of the time, so nobody is refused by it: the request's own deadline is what ends the wait.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_comes_first_is_the_deadline() {
    let admission = build(Admission::builder("reports", 1));
    let _held = enter(&admission, ms(10_000)).await.unwrap();
    let start = Instant::now();
    let stopped = enter(&admission, ms(80)).await.unwrap_err();
    assert_eq!(start.elapsed(), ms(80));
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
    assert_eq!(stopped.limited_by().operation(), "request");

    let request = Context::root("request", Budget::new(ms(500)));
    let entering = request.enter(|| admission.enter());
    let (ended, ()) = tokio::join!(request.run(entering), async {
        sleep(ms(10)).await;
        request.cancel(Cause::ClientCancelled);
    });
    let ended = ended.and_then(|own| own);
    assert_eq!(ended.unwrap_err().cause(), Cause::ClientCancelled);
    let stats = admission.stats();
    assert_eq!((stats.left, stats.refused(), stats.waiting), (2, 0, 0));
    adds_up(stats);
}

#[tokio::test(start_paused = true)]
async fn only_a_part_is_refused_by_expectation() {
    let admission = usually_100ms(
        Admission::builder("reports", 1)
            .refuse_at_most(20)
            .queue(1_000),
    )
    .await;
    let _held = enter(&admission, ms(60_000)).await.unwrap();
    let mut refused = 0;
    for _ in 0..1_000 {
        // Polled once: refused at once, or in line, which it leaves.
        let request = Context::root("request", Budget::new(ms(50)));
        let mut entering = request.enter(|| admission.enter());
        let ended = futures::poll!(&mut entering);
        refused += u64::from(ended.is_ready());
    }
    let stats = admission.stats();
    assert_eq!((stats.not_worth_it, stats.left), (refused, 1_000 - refused));
    // A fifth, and the ten that are always possible.
    assert_eq!(refused, 209);
    adds_up(stats);

    // With a thousand requests that need no refusal nothing is used up.
    let idle = build(Admission::builder("idle", 1));
    for _ in 0..1_000 {
        assert!(enter(&idle, ms(50)).await.is_ok());
    }
    assert_eq!(idle.stats().refused(), 0);
}

#[tokio::test(start_paused = true)]
async fn tasks_of_the_request_hold_its_slot_until_they_have_ended() {
    let admission = build(Admission::builder("work", 1));
    let request = Context::root("request", Budget::new(ms(1_000)));
    let slot = request
        .run(request.enter(|| admission.enter()))
        .await
        .unwrap()
        .unwrap();
    let other = Context::root("other", Budget::new(ms(1_000)));
    let task = request.spawn(|_cx| sleep(ms(100)));
    let strangers = other.spawn(|_cx| sleep(ms(500)));
    drop(slot);
    assert_eq!(admission.stats().in_use, 1);
    task.await.unwrap();
    yield_now().await;
    assert_eq!(admission.stats().in_use, 0);
    strangers.await.unwrap();
}

/// A closure on a thread cannot be interrupted: its request is over, and its slot is not free.
#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_keeps_the_slot() {
    let admission = build(Admission::builder("work", 1).queue(0));
    let finish = Arc::new(AtomicBool::new(false));
    let request = Context::root("request", Budget::new(ms(50)));
    let run = async {
        let _slot = admission.enter().await.unwrap();
        let finish = finish.clone();
        let stubborn = Context::current().blocking(move |_cx| {
            while !finish.load(SeqCst) {
                std::thread::sleep(ms(1));
            }
        });
        stubborn.await.unwrap_err()
    };
    let stopped = request.run(run).await;
    assert!(stopped.is_ok_and(|stopped| stopped.cause() == Cause::DeadlineExceeded));
    assert_eq!(admission.stats().in_use, 1);
    assert_eq!(
        enter(&admission, ms(1_000)).await.unwrap_err().cause(),
        Cause::Overload
    );
    finish.store(true, SeqCst);
    timeout(Duration::from_secs(10), async {
        while admission.stats().in_use > 0 {
            sleep(ms(1)).await;
        }
    })
    .await
    .unwrap();
}

#[test]
fn figures_that_admit_nobody_are_refused_with_what_is_accepted() {
    let problem = |builder: AdmissionBuilder| builder.build().unwrap_err().to_string();
    assert_eq!(
        problem(Admission::builder("a", 0)),
        "admission `a`: 0 slots admit nobody, at least 1 is needed"
    );
    assert_eq!(
        problem(Admission::for_pool("a", 2, 3)),
        "admission `a`: a request takes 3 connections at once and the pool has 2, so none could ever be served"
    );
    assert_eq!(
        problem(Admission::for_pool("a", 2, 0)),
        "admission `a`: a request that takes 0 connections needs no pool, say how many it takes"
    );
    assert!(problem(Admission::builder("a", usize::MAX)).contains("are more than can be counted"));
    assert_eq!(
        problem(Admission::builder("a", 1).refuse_at_most(101)),
        "admission `a`: refuse_at_most(101) is no percentage, 0 to 100 are accepted"
    );
    assert_eq!(build(Admission::for_pool("a", 10, 2)).stats().slots, 5);
    assert_eq!(build(Admission::for_pool("a", 11, 4)).stats().slots, 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever comes and leaves in whatever order: everybody is counted once, and nothing is held in the end.
    #[test]
    fn everybody_is_counted_once(
        slots in 1_usize..4,
        queue in 0_usize..6,
        requests in proptest::collection::vec((0_u64..60, 1_u64..80, 1_u64..50, proptest::option::of(0_u64..60)), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let stats = runtime.block_on(async {
            let admission = build(Admission::builder("work", slots).queue(queue).max_wait(ms(40)));
            let mut tasks = tokio::task::JoinSet::new();
            for (at, budget, work, dropped) in requests {
                let admission = admission.clone();
                tasks.spawn(async move {
                    sleep(ms(at)).await;
                    let one = async {
                        let slot = enter(&admission, ms(budget)).await;
                        if slot.is_ok() {
                            sleep(ms(work)).await;
                        }
                        let stats = admission.stats();
                        assert!(stats.in_use <= stats.slots && stats.waiting <= queue);
                    };
                    match dropped {
                        Some(after) => drop(timeout(ms(after), one).await),
                        None => one.await,
                    }
                });
            }
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
            admission.stats()
        });
        prop_assert_eq!((stats.in_use, stats.waiting), (0, 0));
        adds_up(stats);
    }
}
