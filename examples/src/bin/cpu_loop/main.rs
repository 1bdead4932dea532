//! Code that computes, and what stops it.
//!
//! `cargo run -p deadline-examples --bin cpu_loop` takes about two seconds and ends with status 1 if a promise is broken.

mod work;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use deadline_examples::timeline::Timeline;
use deadline_runtime::{Cause, Phase, Stopped};
use tokio::runtime::{Builder, Runtime};

/// How much later than promised something may be seen on a busy machine.
const SLACK: Duration = Duration::from_millis(200);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn main() -> ExitCode {
    let timeline = Timeline::default();
    let flavours = [
        (
            "current thread",
            Builder::new_current_thread().enable_time().build(),
        ),
        (
            "two threads",
            Builder::new_multi_thread()
                .worker_threads(2)
                .enable_time()
                .build(),
        ),
    ];
    for (flavour, runtime) in flavours {
        match runtime {
            Ok(runtime) => {
                a_loop(&timeline, flavour, &runtime);
                a_synchronous_helper(&timeline, flavour, &runtime);
                one_that_swallows_its_stop(&timeline, flavour, &runtime);
            }
            Err(error) => timeline.promise(false, format!("a runtime is there: {error}")),
        }
    }
    if let Ok(runtime) = Builder::new_current_thread().enable_time().build() {
        one_without_a_checkpoint(&timeline, &runtime);
    }
    timeline.end()
}

/// Within one step after `end`, as far as the machine lets us see it.
fn in_time(timeline: &Timeline, end: Duration) -> bool {
    let took = timeline.elapsed();
    took >= end && took < end + ms(1) + SLACK
}

fn told(timeline: &Timeline, outcome: &Result<u64, Stopped>) {
    match outcome {
        Ok(value) => timeline.note(format!("returned {value}")),
        Err(stopped) => timeline.note(stopped),
    }
}

fn a_loop(timeline: &Timeline, flavour: &str, runtime: &Runtime) {
    timeline.scene(format!("a loop of 1 ms steps under 100 ms, {flavour}"));
    let outcome = runtime.block_on(async { tokio::spawn(work::steps(10_000)).await });
    let in_time = in_time(timeline, ms(100));
    let Ok(outcome) = outcome else {
        return timeline.promise(false, "the task runs to its end");
    };
    told(timeline, &outcome);
    let stop = outcome
        .err()
        .map(|stopped| (stopped.cause(), stopped.phase()));
    timeline.promise(
        stop == Some((Cause::DeadlineExceeded, Phase::Compute)),
        "stopped at the checkpoint of the loop, though it never gave its thread away",
    );
    timeline.promise(in_time, "within one step after the deadline");
}

fn a_synchronous_helper(timeline: &Timeline, flavour: &str, runtime: &Runtime) {
    timeline.scene(format!(
        "a synchronous helper under `#[checkpoint]`, {flavour}"
    ));
    let outcome = runtime.block_on(async { tokio::spawn(work::hands_on(10_000)).await });
    let in_time = in_time(timeline, ms(100));
    let Ok(outcome) = outcome else {
        return timeline.promise(false, "the task runs to its end");
    };
    told(timeline, &outcome);
    timeline.promise(
        outcome.is_err_and(|stopped| stopped.cause() == Cause::DeadlineExceeded),
        "the helper saw the deadline of whoever called it",
    );
    timeline.promise(in_time, "within one step after the deadline");
}

fn one_that_swallows_its_stop(timeline: &Timeline, flavour: &str, runtime: &Runtime) {
    timeline.scene(format!(
        "one that swallows its stop, 150 ms with 50 ms of cleanup, {flavour}"
    ));
    let rounds = AtomicU32::new(0);
    let outcome = runtime.block_on(work::swallows(&rounds));
    let in_time = in_time(timeline, ms(150));
    told(timeline, &outcome);
    let rounds = rounds.load(Ordering::Relaxed);
    timeline.note(format!("it was shown its stop {rounds} times"));
    timeline.promise(
        in_time,
        "dropped at the end of its cleanup: 100 ms of work and 50 ms of grace",
    );
    timeline.promise(rounds >= 1, "it was given the chance to tidy up");
    timeline.promise(
        rounds <= 80,
        "it could not spin: after ten times it was shown its stop once a millisecond",
    );
}

fn one_without_a_checkpoint(timeline: &Timeline, runtime: &Runtime) {
    timeline.scene("for contrast: one that computes 250 ms without a checkpoint, under 100 ms");
    let outcome = runtime.block_on(work::unchecked(250));
    let took = timeline.elapsed();
    told(timeline, &outcome);
    timeline.promise(
        outcome.is_ok() && took >= ms(250),
        "nothing can take a thread away from code: it runs to its end, and its value is late",
    );
}
