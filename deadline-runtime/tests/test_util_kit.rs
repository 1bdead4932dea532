//! The test kit itself: clocks, scripts, faults and assertions say and do what they promise.
#![allow(missing_docs, clippy::all, clippy::pedantic)]

mod common;

use std::cell::RefCell;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use common::ms;
use deadline_runtime::test_util::{
    Fault, Faults, Injected, InjectedCounts, Script, assert_checkpoints, assert_idle,
    assert_nothing_left, assert_stopped, checkpoints_passed, clock_is_paused, elapsed_of,
    needs_real_time, pass, registered, run_stopped_at, run_ticking, run_until_idle,
    tick_per_checkpoint,
};
use deadline_runtime::{Budget, Cause, Context, Phase, Stopped, Tracker, checkpoint, deadline};
use tokio::time::{Instant, sleep};

/// What a panic says.
fn panics(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast_ref::<&str>().unwrap().to_string(),
    }
}

fn request(millis: u64) -> Context {
    Context::root("request", Budget::new(ms(millis)))
}

#[deadline]
async fn crunch(rounds: u64) -> Result<u64, Stopped> {
    let mut sum = 0_u64;
    for round in 0..rounds {
        sum = sum.wrapping_add(round);
    }
    Ok(sum)
}

#[checkpoint]
fn crunch_here(rounds: u64, done: &mut u64) -> Result<(), Stopped> {
    let mut left = rounds;
    while left > 0 {
        left -= 1;
        *done += 1;
    }
    Ok(())
}

#[deadline]
async fn crunch_below(done: &mut u64) -> Result<(), Stopped> {
    crunch_here(1_000, done)
}

#[tokio::test(start_paused = true)]
async fn a_loop_stops_in_the_step_in_which_its_time_is_up() {
    let (took, outcome) = elapsed_of(run_ticking(ms(20), ms(1), || crunch(1_000_000))).await;
    assert_eq!(took, ms(20));
    assert_stopped(&outcome)
        .cause(Cause::DeadlineExceeded)
        .phase(Phase::Compute)
        .operation("crunch")
        .limited_by("test")
        .elapsed(ms(20))
        .budget(ms(20));
    // A step that does not divide the budget: within one step after it.
    let (took, outcome) = elapsed_of(run_ticking(ms(20), ms(7), || crunch(1_000))).await;
    assert_eq!(took, ms(21));
    assert_stopped(&outcome).elapsed(ms(21));
    // And one that comes through.
    let (took, outcome) = elapsed_of(run_ticking(ms(20), ms(1), || crunch(19))).await;
    assert_eq!((took, outcome.unwrap()), (ms(19), 171));
}

#[tokio::test(start_paused = true)]
async fn a_synchronous_helper_stops_in_the_same_step() {
    let mut done = 0;
    let (took, outcome) = elapsed_of(run_ticking(ms(20), ms(1), || crunch_below(&mut done))).await;
    assert_eq!((took, done), (ms(20), 19));
    assert_stopped(&outcome)
        .cause(Cause::DeadlineExceeded)
        .phase(Phase::Compute);
    // Outside any future, in a context that was entered by hand.
    let cx = request(20);
    tick_per_checkpoint(&cx, ms(1));
    let mut done = 0;
    let outcome = cx.enter(|| crunch_here(1_000, &mut done));
    assert_eq!(done, 19);
    assert_stopped(&outcome)
        .cause(Cause::DeadlineExceeded)
        .limited_by("request");
    // A request that was not told takes no time at all.
    let start = Instant::now();
    assert!(request(20).enter(|| crunch_here(1_000, &mut done)).is_ok());
    assert_eq!(start.elapsed(), ms(0));
}

#[deadline]
async fn waits_and_crunches() -> Result<Duration, Stopped> {
    let start = Instant::now();
    sleep(ms(10)).await;
    for _ in 0..5 {
        std::hint::black_box(());
    }
    sleep(ms(10)).await;
    Ok(start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn awaits_and_timers_see_the_time_that_a_loop_took() {
    let took = run_ticking(ms(100), ms(2), waits_and_crunches).await;
    assert_eq!(took.unwrap(), ms(30));
    let (took, outcome) = elapsed_of(run_ticking(ms(25), ms(2), waits_and_crunches)).await;
    assert_eq!(took, ms(25));
    assert_stopped(&outcome).phase(Phase::Wait).elapsed(ms(25));
}

#[tokio::test(start_paused = true)]
async fn time_passes_in_the_middle_of_a_poll() {
    assert!(clock_is_paused());
    let cx = request(50);
    let outcome = cx.run(async {
        pass(ms(49));
        assert!(Context::current().check().is_ok());
        pass(ms(1));
        assert_stopped(&Context::current().check()).elapsed(ms(50));
        pending::<()>().await
    });
    assert_stopped(&outcome.await).cause(Cause::DeadlineExceeded);
}

#[tokio::test]
async fn a_clock_that_runs_is_told_from_a_paused_one() {
    for _ in 0..100 {
        assert!(!clock_is_paused());
    }
    needs_real_time("a socket");
    assert!(panics(|| pass(ms(1))).starts_with("the clock can only be moved where it is paused"));
    assert!(
        panics(|| tick_per_checkpoint(&request(9), ms(1)))
            .starts_with("the clock can only be moved")
    );
}

#[tokio::test(start_paused = true)]
async fn real_io_is_refused_on_a_paused_clock() {
    let message = panics(|| needs_real_time("a TCP listener"));
    assert!(
        message.starts_with("a TCP listener needs real time, but this test's clock is paused"),
        "{message}"
    );
}

#[test]
fn without_a_runtime_there_is_no_clock_to_move() {
    assert!(!clock_is_paused());
    assert!(panics(|| pass(ms(1))).starts_with("the clock can only be moved"));
}

#[tokio::test(start_paused = true)]
async fn a_script_does_its_steps_in_time_and_in_order() {
    let done = RefCell::new(Vec::new());
    let start = Instant::now();
    let note = |what: &'static str| {
        let (done, start) = (&done, start);
        move || done.borrow_mut().push((what, start.elapsed()))
    };
    let script = Script::new()
        .at(ms(30), note("third"))
        .at(ms(10), note("first"))
        .at(ms(30), note("fourth"))
        .at(ms(20), note("second"))
        .at(ms(99), note("never"));
    let value = script.during(async {
        sleep(ms(30)).await;
        note("work")();
        7
    });
    assert_eq!(value.await, 7);
    assert_eq!(
        *done.borrow(),
        [
            ("first", ms(10)),
            ("second", ms(20)),
            ("third", ms(30)),
            ("fourth", ms(30)),
            ("work", ms(30))
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn other_tasks_come_to_rest_without_time_going_by() {
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        for at in 0..100 {
            if send.send(at).await.is_err() {
                return;
            }
        }
        sleep(ms(5)).await;
        let _ = send.send(100).await;
    });
    let reader = tokio::spawn(async move {
        let mut last = None;
        while let Some(at) = receive.recv().await {
            last = Some(at);
            if at == 99 {
                break;
            }
        }
        last
    });
    let start = Instant::now();
    run_until_idle().await;
    assert_eq!(start.elapsed(), ms(0));
    assert!(reader.is_finished());
    assert_eq!(reader.await.unwrap(), Some(99));
}

fn counts(faults: &Faults) -> [usize; 8] {
    let InjectedCounts {
        calls,
        passed,
        delayed,
        hung,
        errors,
        disconnected,
        spun,
        blocked,
        ..
    } = faults.injected();
    [
        calls,
        passed,
        delayed,
        hung,
        errors,
        disconnected,
        spun,
        blocked,
    ]
}

#[tokio::test(start_paused = true)]
async fn each_fault_does_what_it_says() {
    let begun = RefCell::new(0);
    let work = || async {
        *begun.borrow_mut() += 1;
        tokio::task::yield_now().await;
        Ok::<_, std::io::Error>(*begun.borrow())
    };
    let faults = Faults::script([
        Fault::Pass,
        Fault::Delay(ms(30)),
        Fault::Hang,
        Fault::Error,
        Fault::Disconnect,
        Fault::Spin,
        Fault::Block(ms(70)),
    ]);
    assert_eq!(elapsed_of(faults.around(work())).await.1.unwrap(), 1);
    let (took, value) = elapsed_of(faults.around(work())).await;
    assert_eq!((took, value.unwrap()), (ms(30), 2));
    let cx = request(100);
    let (took, hung) = elapsed_of(cx.run(faults.around(work()))).await;
    assert_eq!((took, *begun.borrow()), (ms(100), 2));
    assert_stopped(&hung).cause(Cause::DeadlineExceeded);
    let (took, failed) = elapsed_of(faults.around(work())).await;
    assert_eq!((took, *begun.borrow()), (ms(0), 2));
    assert_eq!(failed.unwrap_err().kind(), std::io::ErrorKind::Other);
    let lost = faults.around(work()).await;
    assert_eq!(
        (lost.unwrap_err().kind(), *begun.borrow()),
        (std::io::ErrorKind::ConnectionReset, 3)
    );
    // One that spins never lets the paused clock move by itself.
    let cx = request(10);
    let spun = tokio::join!(cx.run(faults.around(work())), async {
        run_until_idle().await;
        pass(ms(10));
    });
    assert_stopped(&spun.0)
        .cause(Cause::DeadlineExceeded)
        .elapsed(ms(10));
    let cx = request(50);
    let (took, late) =
        elapsed_of(cx.run(async { faults.around(async { Ok::<_, Stopped>(1) }).await })).await;
    // Ready in the poll that crosses the deadline: a value is a value.
    assert_eq!((took, late.unwrap().unwrap()), (ms(70), 1));
    assert_eq!(counts(&faults), [7, 1, 1, 1, 1, 1, 1, 1]);
    // After the script all is well, unless something else is said.
    assert!(faults.around(work()).await.is_ok());
    let down = Faults::script([]).then(Fault::Error);
    for _ in 0..3 {
        assert!(down.around(work()).await.is_err());
    }
    assert_eq!(counts(&down), [3, 0, 0, 0, 3, 0, 0, 0]);
    // One that is never polled is no call.
    drop(down.around(work()));
    assert_eq!(down.injected().calls, 3);
}

#[tokio::test(start_paused = true)]
async fn a_seed_says_which_faults_come() {
    let draw = |seed| async move {
        let faults = Faults::random(
            seed,
            [
                (7, Fault::Pass),
                (2, Fault::Error),
                (1, Fault::Delay(ms(1))),
                (0, Fault::Hang),
            ],
        );
        let mut outcomes = Vec::new();
        for _ in 0..1_000 {
            outcomes.push(faults.around(async { Ok::<_, Injected>(()) }).await.is_ok());
        }
        (outcomes, counts(&faults))
    };
    let (first, counts) = draw(1).await;
    assert_eq!(draw(1).await.0, first);
    assert_ne!(draw(2).await.0, first);
    let [calls, passed, delayed, hung, errors, ..] = counts;
    assert_eq!((calls, hung), (1_000, 0));
    assert_eq!(passed + delayed + errors, 1_000);
    assert!((650..750).contains(&passed), "{passed}");
    assert!((150..250).contains(&errors), "{errors}");
    assert!((50..150).contains(&delayed), "{delayed}");
    let none = Faults::random(1, []);
    assert!(none.around(async { Ok::<_, Injected>(()) }).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_injected_error_is_a_failed_dependency() {
    let faults = Faults::script([Fault::Error]);
    let outcome = faults.around(async { Ok::<(), Stopped>(()) }).await;
    let stopped = assert_stopped(&outcome)
        .cause(Cause::DependencyFailed)
        .phase(Phase::Request)
        .stop();
    let source = std::error::Error::source(stopped).unwrap();
    assert_eq!(source.downcast_ref(), Some(&Injected::Error));
}

#[tokio::test(start_paused = true)]
async fn assertions_say_what_it_was_instead() {
    let value: Result<u8, Stopped> = Ok(7);
    assert_eq!(
        panics(|| _ = assert_stopped(&value)),
        "expected a stop, got the value 7"
    );
    let other: Result<u8, std::io::Error> = Err(std::io::Error::other("broken"));
    assert!(
        panics(|| _ = assert_stopped(&other))
            .starts_with("expected a stop, got an error without a stop")
    );
    let cx = request(20);
    let outcome = cx.run(pending::<()>()).await;
    let message = panics(|| _ = assert_stopped(&outcome).cause(Cause::Shutdown));
    assert!(
        message.starts_with(
            "the cause of the stop is DeadlineExceeded, not Shutdown\n  stop: request stopped"
        ),
        "{message}"
    );
    let message = panics(|| _ = assert_stopped(&outcome).limited_by("load"));
    assert!(
        message.starts_with("the limit of the stop is \"request\", not \"load\""),
        "{message}"
    );
    // Found behind whatever the error type makes of it.
    let wrapped: Result<(), _> = Err(std::io::Error::other(std::io::Error::other(
        outcome.unwrap_err(),
    )));
    assert_stopped(&wrapped)
        .cause(Cause::DeadlineExceeded)
        .elapsed(ms(20));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_running_is_told() {
    let cx = request(500);
    assert_nothing_left(&cx);
    let task = tokio::spawn(cx.run(pending::<()>()));
    let child = cx.child(ms(10));
    run_until_idle().await;
    assert_eq!((registered(&cx).children, registered(&cx).waiting), (1, 1));
    let message = panics(|| assert_nothing_left(&cx));
    assert!(
        message.contains("contexts alive below it: 1, tasks that its cancel would wake: 1"),
        "{message}"
    );
    drop(child);
    let tracker = Tracker::new();
    assert_idle(&tracker);
    let tracked = Context::builder("tracked").tracker(&tracker).build();
    let mut running = Box::pin(tracked.run(pending::<()>()));
    assert!(common::poll_here(running.as_mut()).await.is_pending());
    let message = panics(|| assert_idle(&tracker));
    assert!(
        message.contains("still running") && message.contains("requests: 1"),
        "{message}"
    );
    drop(running);
    assert_idle(&tracker);
    task.abort();
    let _ = task.await;
    assert_nothing_left(&cx);
}

#[deadline]
async fn shielded() -> Result<(), Stopped> {
    #[shield("10ms")]
    counted().await;
    Ok(())
}

#[deadline(fallback = ())]
async fn counted() {
    for _ in 0..3 {
        std::hint::black_box(());
    }
}

#[tokio::test(start_paused = true)]
async fn checkpoints_are_counted_also_under_a_shield() {
    let cx = request(500);
    cx.run(shielded()).await.unwrap().unwrap();
    // What runs it, the function, the shield, what it calls, three rounds.
    let passed = checkpoints_passed(&cx);
    assert_checkpoints(&cx, passed);
    assert!(passed >= 6, "{passed}");
    let message = panics(|| assert_checkpoints(&cx, passed + 1));
    assert!(
        message.contains(&format!(
            "has passed {passed} checkpoints, not {}",
            passed + 1
        )),
        "{message}"
    );
    let outcome = run_stopped_at(1, Cause::Shutdown, shielded).await;
    assert_stopped(&outcome).cause(Cause::Shutdown);
}
