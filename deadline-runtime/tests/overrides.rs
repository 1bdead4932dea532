//! Budgets by operation name, and what says that a caller repeats.
#![allow(missing_docs, clippy::pedantic)]

#[path = "common/overridden.rs"]
mod overridden;

use std::num::NonZeroU32;

use deadline_runtime::{Budget, Cause, Context, Mode, Overrides};
use overridden::{ended, load_profile, ms, root};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn an_override_counts_instead_of_what_is_written() {
    for (list, after, budget) in [
        ("", 355, 450),
        ("other=700ms", 355, 450),
        ("load_profile=700ms", 605, 700),
        ("load_profile=200ms", 105, 200),
        (" load_profile = 1s , other=1m 30s,", 905, 1_000),
    ] {
        let (elapsed, stopped) = ended(&list.parse().unwrap()).await;
        assert_eq!(elapsed, ms(after), "{list}");
        assert_eq!(stopped.budget(), Some(ms(budget)), "{list}");
        assert_eq!(
            stopped.limited_by().operation() == "root",
            list.contains("1s")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_can_still_only_shorten_and_nothing_useless_is_taken() {
    // Longer than the request itself.
    let (elapsed, stopped) = ended(&"load_profile=5s".parse().unwrap()).await;
    assert_eq!(
        (elapsed, stopped.cause()),
        (ms(905), Cause::DeadlineExceeded)
    );
    // Nothing would be left after the reserve: it would be refused every time.
    let (elapsed, stopped) = ended(&"load_profile=100ms".parse().unwrap()).await;
    assert_eq!((elapsed, stopped.budget()), (ms(355), Some(ms(450))));
}

#[tokio::test(start_paused = true)]
async fn a_request_keeps_what_it_began_with_and_the_next_one_sees_the_change() {
    let overrides: Overrides = "load_profile=200ms".parse().unwrap();
    let running = root(&overrides);
    overrides.set("load_profile=300ms").unwrap();
    let start = Instant::now();
    let _ = running.run(load_profile()).await.unwrap().unwrap_err();
    assert_eq!(start.elapsed(), ms(105));
    assert_eq!(ended(&overrides).await.0, ms(205));
    // What means nothing changes nothing.
    overrides.set("load_profile=300").unwrap_err();
    assert_eq!(ended(&overrides).await.0, ms(205));
    overrides.set("").unwrap();
    assert_eq!(ended(&overrides).await.0, ms(355));
}

#[tokio::test(start_paused = true)]
async fn children_shields_and_detached_work_have_the_same_overrides() {
    let overrides: Overrides = "load_profile=200ms".parse().unwrap();
    let cx = root(&overrides).child(ms(900));
    let start = Instant::now();
    let _ = tokio::spawn(cx.run(load_profile()))
        .await
        .unwrap()
        .unwrap()
        .unwrap_err();
    assert_eq!(start.elapsed(), ms(105));
    let start = Instant::now();
    let detached = cx.detach("audit", ms(5_000), load_profile);
    let _ = detached.await.unwrap().unwrap().unwrap_err();
    assert_eq!(start.elapsed(), ms(105));
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_enforced_an_override_is_only_recorded() {
    let overrides: Overrides = "load_profile=200ms".parse().unwrap();
    let cx = Context::builder("root")
        .mode(Mode::Observe)
        .overrides(&overrides)
        .build();
    let run = cx.run(load_profile());
    assert!(tokio::time::timeout(ms(2_000), run).await.is_err());
}

#[test]
fn a_list_is_read_strictly_and_written_as_it_is_read() {
    let list: Overrides = "b=1s,GET /a=b=20ms".parse().unwrap();
    assert_eq!(list.to_string(), "GET /a=b=20ms, b=1000ms");
    assert_eq!(
        list.to_string().parse::<Overrides>().unwrap().get("b"),
        Some(ms(1_000))
    );
    for (wrong, problem) in [
        ("load_profile", "it names no operation"),
        ("=5ms", "it names no operation"),
        ("a=5ms, a=6ms", "the operation is named twice"),
    ] {
        let error = wrong.parse::<Overrides>().unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
        assert!(
            error.ends_with("as in `load_profile=700ms, dashboard=2s`)"),
            "{error}"
        );
    }
    for wrong in [
        "a=5", "a=0ms", "a=-5ms", "a=5MS", "a=1.5s", "a=2y", "a=40%", "a=",
    ] {
        let error = wrong.parse::<Overrides>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{wrong}` is not an override: ")),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_an_attempt_goes_down_and_not_out() {
    let two = NonZeroU32::new(2).unwrap();
    let cx = Context::root("root", Budget::new(ms(100)));
    assert_eq!(cx.attempt(), None);
    let attempt = cx.in_attempt(two);
    assert_eq!(attempt.remaining(), Some(ms(100)));
    let seen = attempt.run(async {
        let here = Context::current().attempt();
        let spawned = tokio::spawn(attempt.run(async { Context::current().attempt() }));
        (here, spawned.await.unwrap().unwrap())
    });
    assert_eq!(seen.await.unwrap(), (Some(two), Some(two)));
    assert_eq!(cx.attempt(), None);
    let detached = attempt.detach("audit", ms(50), || async { Context::current().attempt() });
    assert_eq!(detached.await.unwrap().unwrap(), None);
    let from_wire = Context::builder("root").attempt(Some(two)).build();
    assert_eq!(from_wire.child(ms(5)).attempt(), Some(two));
}
