//! Overflowing, huge, tiny and zero durations; far deadlines; relative budgets that are used again.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::{pending, ready};
use std::time::Duration;

use common::ms;
use deadline_runtime::{
    Budget, Cause, Context, Deadline, Millis, Percent, Phase, Stopped, Unbudgeted, parse_duration,
    timeout,
};
use tokio::time::{Instant, advance, sleep};

type Forever = Result<(), Stopped>;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[tokio::test(start_paused = true)]
async fn practically_infinite_durations_never_panic() {
    let max = Duration::MAX;
    let everything = Budget::new(max).reserve(max).min(max).cleanup(max);
    for budget in [
        Budget::new(max),
        Budget::new(max).reserve(max),
        Budget::new(max).cleanup(max),
        Budget::new(max).min(max),
        Budget::percent(u64::MAX),
        Budget::inherited().reserve(max).cleanup(max),
        everything,
    ] {
        let cx = Context::root("request", budget);
        let child = cx.child(budget).child(max).child(Budget::percent(100));
        let _ = (child.remaining(), format!("{cx:?} {child:?}"), cx.check());
        let _ = cx.run(ready(1)).await;
        let _ = child.run(ready(1)).await;
        let _ = cx.detach("audit", budget, || ready(1)).await.unwrap();
    }
    let cx = Context::root("request", Budget::new(max));
    assert_eq!(cx.remaining(), Some(YEAR));
    assert_eq!(cx.child(max).remaining(), Some(YEAR));
    // A timer that far away is set, and does not fire.
    let task = tokio::spawn(cx.run(pending::<()>()));
    sleep(ms(10)).await;
    assert!(!task.is_finished());
    task.abort();
    assert_eq!(timeout(max, ready(1)).await.unwrap(), 1);
    let outcome = scoped!(Millis<{ u64::MAX }>, "work", {
        Ok::<_, Stopped>(Context::current().remaining())
    });
    assert_eq!(outcome.await.unwrap(), Some(YEAR));
}

#[tokio::test(start_paused = true)]
async fn far_deadlines_are_waited_for() {
    // Beyond what tokio's wheel holds (2.2 years), beyond what the clock counts.
    let far = Instant::now() + 3 * YEAR;
    let cx = Context::builder("request")
        .deadline(Deadline::at(far))
        .build();
    let task = tokio::spawn(cx.run(pending::<()>()));
    sleep(ms(10)).await;
    assert!(!task.is_finished());
    assert!(cx.remaining().unwrap() > 2 * YEAR);
    task.abort();
    let cx = Context::builder("request")
        .started(Deadline::after(YEAR))
        .budget(Budget::new(YEAR))
        .build();
    assert_eq!(cx.remaining(), Some(2 * YEAR));
}

#[tokio::test(start_paused = true)]
async fn zero_is_expired_and_never_unlimited() {
    let cx = Context::root("request", Budget::new(Duration::ZERO));
    assert_eq!(cx.remaining(), Some(Duration::ZERO));
    assert_eq!(cx.cause(), Some(Cause::DeadlineExceeded));
    let stopped = cx.run(ready(1)).await.unwrap_err();
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::DeadlineExceeded, Phase::Start)
    );
    let cx = Context::root("request", Budget::new(ms(100)));
    // A remainder that lands on exactly zero: all of it reserved.
    for budget in [
        Budget::new(Duration::ZERO),
        Budget::percent(0),
        Budget::new(ms(50)).reserve(ms(50)),
        Budget::new(ms(50)).reserve(ms(30)).cleanup(ms(20)),
        Budget::new(ms(50)).reserve(ms(51)),
    ] {
        let child = cx.child(budget);
        assert_eq!(child.remaining(), Some(Duration::ZERO), "{budget:?}");
        assert!(child.run(ready(1)).await.is_err(), "{budget:?}");
    }
    let zero: Result<u8, Stopped> = scoped!(Percent<0>, "zero", { Ok(1) }).await;
    // A share of nothing inherited is no limit.
    assert_eq!(zero.unwrap(), 1);
    let zero: Result<u8, Stopped> = cx.enter(|| scoped!(Percent<0>, "zero", { Ok(1) })).await;
    assert_eq!(zero.unwrap_err().cause(), Cause::DependencyTimeout);
    let stopped = timeout(Duration::ZERO, ready(1)).await.unwrap_err();
    assert_eq!(stopped.phase(), Phase::Start);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_in_the_past_is_expired() {
    let past = Deadline::now();
    advance(ms(50)).await;
    let cx = Context::builder("request").deadline(past).build();
    assert_eq!(cx.remaining(), Some(Duration::ZERO));
    assert_eq!(
        cx.run(ready(1)).await.unwrap_err().cause(),
        Cause::DeadlineExceeded
    );
    let cx = Context::builder("request")
        .started(past)
        .budget(ms(80))
        .build();
    assert_eq!(cx.remaining(), Some(ms(30)));
}

#[tokio::test(start_paused = true)]
async fn less_than_a_timers_millisecond_is_not_begun() {
    let micros = Duration::from_micros;
    for (left, runs) in [(1_000, true), (999, false), (400, false)] {
        let cx = Context::root("request", Budget::new(micros(left)));
        let outcome = cx.run(ready(1)).await;
        assert_eq!(outcome.is_ok(), runs, "{left}us");
        if let Err(stopped) = outcome {
            assert_eq!(stopped.cause(), Cause::LocalBudgetRejected);
            assert_eq!(stopped.needed(), Some((ms(1), micros(left))));
        }
    }
    // Between whole milliseconds a timer fires late, by less than two.
    let start = Instant::now();
    let cx = Context::root("request", Budget::new(micros(10_500)));
    let stopped = cx.run(pending::<()>()).await.unwrap_err();
    assert!(stopped.elapsed() >= micros(10_500) && start.elapsed() < micros(12_500));
}

#[tokio::test(start_paused = true)]
async fn a_relative_budget_is_resolved_at_every_call() {
    async fn call() -> Result<Duration, Stopped> {
        scoped!(Millis<100>, "call", {
            sleep(ms(60)).await;
            Ok(Context::current().remaining().unwrap_or_default())
        })
        .await
    }
    let outcome: Result<(), Stopped> = scoped!(Millis<5_000>, "outer", {
        for _ in 0..3 {
            assert_eq!(await_!(call()).unwrap(), ms(40));
            sleep(ms(1_000)).await;
        }
        Ok(())
    })
    .await;
    outcome.unwrap();
    // A context by hand starts where it is made, as it says.
    let root = Context::root("root", Budget::new(ms(5_000)));
    let child = root.child(ms(100));
    sleep(ms(1_000)).await;
    assert_eq!(child.remaining(), Some(Duration::ZERO));
    assert_eq!(root.child(ms(100)).remaining(), Some(ms(100)));
}

#[tokio::test(start_paused = true)]
async fn the_smaller_of_explicit_and_inherited_holds() {
    for (parent, own) in [(300, 1_000), (1_000, 300)] {
        let cx = Context::root("request", Budget::new(ms(parent)));
        let child = cx.child(ms(own));
        assert_eq!(child.remaining(), Some(ms(300)));
        let stopped = cx
            .run(async { child.run(pending::<()>()).await.unwrap_err() })
            .await
            .unwrap();
        assert_eq!(stopped.elapsed(), ms(300));
    }
}

#[tokio::test(start_paused = true)]
async fn percentages_are_of_what_is_left_at_the_start() {
    let outcome: Result<(), Stopped> = scoped!(Millis<1_000>, "outer".reserve(200), {
        sleep(ms(300)).await;
        let left = scoped!(Percent<40>, "share", {
            Ok::<_, Stopped>(Context::current().remaining())
        });
        assert_eq!(await_!(left).unwrap(), Some(ms(200)));
        let stopped = scoped!(Percent<40>, "share", { await_!(pending::<Forever>()) })
            .await
            .unwrap_err();
        assert_eq!(
            (stopped.cause(), stopped.elapsed()),
            (Cause::DependencyTimeout, ms(200))
        );
        let whole = scoped!(Percent<100>, "whole", { await_!(pending::<Forever>()) });
        assert_eq!(whole.await.unwrap_err().cause(), Cause::DeadlineExceeded);
        Ok(())
    })
    .await;
    outcome.unwrap();
}

#[test]
fn texts_are_whole_numbers_with_units() {
    for text in [
        "1e3",
        "inf",
        "NaN",
        "+5s",
        "-0m",
        "5S",
        "１００ms",
        "0x64ms",
        "1_000ms",
        "1.5s",
        "",
    ] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
    assert_eq!(parse_duration("00000100ms"), Ok(ms(100)));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_in_a_chain_of_children() {
    let root = Context::root("root", Budget::new(ms(1_000)));
    let mut chain = vec![root];
    for _ in 0..10_000 {
        let next = chain[chain.len() - 1].child(Budget::inherited());
        chain.push(next);
    }
    assert_eq!(chain[10_000].remaining(), Some(ms(1_000)));
    chain[0].cancel(Cause::Shutdown);
    assert_eq!(chain[10_000].cause(), Some(Cause::Shutdown));
    // Dropped outside in and inside out, neither on the stack.
    let last = chain.pop();
    drop(chain);
    drop(last);
    let _ = scoped!(Unbudgeted, "work", { Ok::<(), Stopped>(()) }).await;
}
