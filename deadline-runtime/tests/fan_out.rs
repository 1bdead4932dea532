//! Fan-out: what is returned when, who is stopped by whom, and that nothing is left behind.
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, pending, ready};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use common::{Woken, ms, poll};
use deadline_runtime::fan_out::{
    Gathered, Missed, Need, branch, fan_out, fan_out_all, optional, required,
};
use deadline_runtime::test_util::{assert_nothing_left, run_until_idle};
use deadline_runtime::{
    Budget, Budgeted, Cause, Context, Longest, Millis, Mode, Phase, Stopped, Tracker, Unbudgeted,
    deadline,
};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

#[derive(Debug)]
enum AppError {
    Stopped(Stopped),
    Business(&'static str),
}

impl From<Stopped> for AppError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

async fn after<T>(millis: u64, value: T) -> Result<T, AppError> {
    sleep(ms(millis)).await;
    Ok(value)
}

async fn fails<T>(millis: u64, why: &'static str) -> Result<T, AppError> {
    sleep(ms(millis)).await;
    Err(AppError::Business(why))
}

fn request(millis: u64) -> Context {
    Context::root("request", Budget::new(ms(millis)))
}

fn missing<V>(page: &Gathered<V>) -> Vec<(&'static str, Cause)> {
    let missing = page.missing().iter();
    missing.map(|m| (m.operation(), m.cause())).collect()
}

/// Writes down what the scope it is dropped in is told.
struct SeesStop(
    &'static str,
    Rc<RefCell<Vec<(&'static str, Option<Cause>)>>>,
);

impl Drop for SeesStop {
    fn drop(&mut self) {
        let cause = Context::current().cause();
        self.1.borrow_mut().push((self.0, cause));
    }
}

#[tokio::test(start_paused = true)]
async fn everything_in_time_is_complete_and_takes_as_long_as_the_longest() {
    let start = Instant::now();
    let page = fan_out((
        required("a", after(30, 1_u8)),
        optional("b", after(50, "two")),
        required("c", after(10, vec![3_u64])),
    ))
    .await
    .unwrap();
    assert_eq!(start.elapsed(), ms(50));
    assert!(page.is_complete());
    assert_eq!(page.cause(), None);
    let (a, b, c) = page.values;
    assert_eq!((a, b.unwrap(), c), (1, "two", vec![3]));
}

#[tokio::test(start_paused = true)]
async fn a_required_failure_stops_the_siblings_and_is_the_error() {
    let cx = request(1_000);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let start = Instant::now();
    let sibling = |name| {
        let sees = SeesStop(name, seen.clone());
        async move {
            let _sees = sees;
            sleep(ms(500)).await;
            Ok::<_, AppError>(())
        }
    };
    let result = cx
        .run(async {
            let result = fan_out((
                required("slow", sibling("slow")),
                required("broken", fails::<()>(20, "no such user")),
                optional("ads", sibling("ads")),
            ))
            .await;
            // Everything has ended before the error is returned.
            assert_eq!(seen.borrow().len(), 2);
            result
        })
        .await
        .unwrap();
    assert!(
        matches!(result, Err(AppError::Business("no such user"))),
        "{result:?}"
    );
    assert_eq!(start.elapsed(), ms(20));
    let sibling_failed = Some(Cause::SiblingFailed);
    assert_eq!(
        *seen.borrow(),
        [("slow", sibling_failed), ("ads", sibling_failed)]
    );
    // An answer that is not given misses nothing.
    assert!(cx.missing().is_empty());
    assert_eq!(cx.cause(), None);
}

#[deadline(budget = "600ms", cleanup = "50ms")]
async fn tidies(told: Rc<RefCell<Vec<Cause>>>) -> Result<(), Stopped> {
    if let Err(stopped) = pending::<Result<(), Stopped>>().await {
        told.borrow_mut().push(stopped.cause());
        #[shield("20ms")]
        sleep(ms(10)).await;
        told.borrow_mut().push(Cause::Abandoned);
        return Err(stopped);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn siblings_tidy_up_before_the_error_is_returned() {
    let told = Rc::new(RefCell::new(Vec::new()));
    let start = Instant::now();
    let result = fan_out((
        required("tidies", tidies(told.clone())),
        required("broken", async {
            sleep(ms(30)).await;
            Err::<(), _>(limit())
        }),
    ))
    .await;
    assert_eq!(result.unwrap_err().cause(), Cause::Shutdown);
    assert_eq!(start.elapsed(), ms(40));
    assert_eq!(*told.borrow(), [Cause::SiblingFailed, Cause::Abandoned]);
}

/// Some stop.
fn limit() -> Stopped {
    let cx = Context::root("other", Budget::inherited());
    cx.cancel(Cause::Shutdown);
    cx.check().unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn what_never_began_never_begins_after_a_failure() {
    let begun = AtomicUsize::new(0);
    let result = fan_out_all((0..5).map(|at| {
        let begun = &begun;
        required("branch", async move {
            begun.fetch_add(1, Relaxed);
            if at == 1 {
                fails(0, "second").await
            } else {
                after(100, at).await
            }
        })
    }))
    .at_most(2)
    .await;
    assert!(matches!(result, Err(AppError::Business("second"))));
    assert_eq!(begun.load(Relaxed), 2);
    // Also when the first one fails in its very first poll.
    let begun = AtomicUsize::new(0);
    let result = fan_out((
        required("first", ready(Err::<(), _>(AppError::Business("at once")))),
        required("second", async {
            begun.fetch_add(1, Relaxed);
            Ok(())
        }),
    ))
    .await;
    assert!(matches!(result, Err(AppError::Business("at once"))));
    assert_eq!(begun.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_failure_stays_and_a_tie_goes_in_order() {
    let result = fan_out((
        required("a", fails::<()>(20, "a")),
        required("b", fails::<()>(20, "b")),
        required("c", fails::<()>(10, "c")),
    ))
    .await;
    assert!(matches!(result, Err(AppError::Business("c"))));
    for _ in 0..50 {
        let result = fan_out((
            required("a", fails::<()>(20, "a")),
            required("b", fails::<()>(20, "b")),
        ))
        .await;
        assert!(matches!(result, Err(AppError::Business("a"))));
    }
}

#[tokio::test(start_paused = true)]
async fn optional_misses_yield_their_causes_and_are_recorded() {
    let cx = request(1_000);
    let page = cx
        .run(async {
            fan_out((
                required("profile", after(10, "Ada")),
                optional("ads", after(600, 1)).budget(ms(250)),
                optional("stock", fails::<u8>(30, "down")),
                optional("reviews", after(20, 5)),
            ))
            .await
        })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        missing(&page),
        [
            ("ads", Cause::DependencyTimeout),
            ("stock", Cause::DependencyFailed)
        ]
    );
    assert_eq!(page.cause(), Some(Cause::DependencyFailed));
    let (profile, ads, stock, reviews) = page.values;
    assert_eq!((profile, reviews.unwrap()), ("Ada", 5));
    let ads = ads.unwrap_err();
    let stopped = ads.stopped().unwrap();
    assert_eq!(
        (stopped.cause(), stopped.operation()),
        (Cause::DependencyTimeout, "ads")
    );
    assert_eq!(
        (stopped.budget(), stopped.elapsed()),
        (Some(ms(250)), ms(250))
    );
    assert_eq!(stopped.limited_by().operation(), "ads");
    assert_eq!(stopped.limited_by().location().file(), file!());
    assert!(matches!(
        stock,
        Err(Missed::Failed {
            error: AppError::Business("down"),
            ..
        })
    ));
    let recorded: Vec<_> = cx
        .missing()
        .iter()
        .map(|m| (m.operation(), m.cause()))
        .collect();
    assert_eq!(
        recorded,
        [
            ("stock", Cause::DependencyFailed),
            ("ads", Cause::DependencyTimeout)
        ]
    );
}

#[deadline(budget = "40ms")]
async fn forty() -> Result<u8, AppError> {
    pending().await
}

#[deadline]
async fn inherits() -> Result<u8, AppError> {
    pending().await
}

#[tokio::test(start_paused = true)]
async fn an_error_that_hides_a_stop_is_missed_with_the_stops_cause() {
    let page = fan_out((
        // Its own budget, its callee's, and none of either.
        optional("cut", inherits()).budget(ms(60)),
        optional("forty", forty()),
        optional("other", fails::<u8>(40, "no")),
    ));
    let Ok(page) = page.await;
    assert_eq!(
        missing(&page),
        [
            ("cut", Cause::DependencyTimeout),
            ("forty", Cause::DependencyTimeout),
            ("other", Cause::DependencyFailed),
        ]
    );
    let (cut, ..) = page.values;
    // The callee was given what the branch has, and says whose limit it was.
    let Err(Missed::Failed {
        error: AppError::Stopped(stopped),
        ..
    }) = cut
    else {
        panic!("{cut:?}")
    };
    assert_eq!(stopped.limited_by().operation(), "cut");
    assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
}

#[deadline(budget = "500ms")]
async fn partial(finished: &AtomicUsize) -> Result<usize, Stopped> {
    let page = fan_out((
        required("quick", after_counted(10, finished)),
        optional("also", after_counted(20, finished)),
        optional("never", pending::<Result<(), Stopped>>()),
    ))
    .await?;
    let (_, also, never) = &page.values;
    assert!(also.is_ok());
    assert_eq!(never.as_ref().unwrap_err().cause(), Cause::DeadlineExceeded);
    assert_eq!(missing(&page), [("never", Cause::DeadlineExceeded)]);
    Ok(finished.load(Relaxed))
}

async fn after_counted(millis: u64, finished: &AtomicUsize) -> Result<(), Stopped> {
    sleep(ms(millis)).await;
    finished.fetch_add(1, Relaxed);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_deadline_leaves_what_has_finished() {
    let start = Instant::now();
    assert_eq!(partial(&AtomicUsize::new(0)).await.unwrap(), 2);
    assert_eq!(start.elapsed(), ms(500));
}

#[deadline(budget = "500ms", reserve = "100ms")]
async fn partial_with_reserve() -> Result<(), Stopped> {
    let start = Instant::now();
    let page = fan_out((
        required("quick", async { Ok::<_, Stopped>(()) }),
        optional("never", pending::<Result<(), Stopped>>()),
    ))
    .await?;
    // Within `partial_with_cleanup` it has 400 ms.
    let left = Context::current().remaining().unwrap_or_default();
    assert_eq!(left, ms(0));
    assert!(start.elapsed() == ms(400) || start.elapsed() == ms(300));
    assert_eq!(missing(&page), [("never", Cause::DeadlineExceeded)]);
    Ok(())
}

#[deadline(budget = "500ms", cleanup = "100ms")]
async fn partial_with_cleanup() -> Result<(), Stopped> {
    let start = Instant::now();
    let page = fan_out((
        required("quick", async { Ok::<_, Stopped>(()) }),
        optional("nested", partial_with_reserve()),
        optional("never", pending::<Result<(), Stopped>>()),
    ))
    .await?;
    assert_eq!(start.elapsed(), ms(400));
    assert_eq!(missing(&page), [("never", Cause::DeadlineExceeded)]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_deadline_leaves_what_has_finished_with_a_reserve_and_with_cleanup() {
    partial_with_reserve().await.unwrap();
    partial_with_cleanup().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_busy_thread_loses_nothing_either() {
    // Both timers are late: the stop is seen by the clock alone.
    let cx = request(50);
    let page = cx
        .run(async {
            fan_out((
                required("quick", after(10, ())),
                optional("busy", async {
                    sleep(ms(20)).await;
                    tokio::time::advance(ms(80)).await;
                    pending::<Result<(), AppError>>().await
                }),
                optional("never", pending::<Result<(), AppError>>()),
            ))
            .await
        })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        missing(&page),
        [
            ("busy", Cause::DeadlineExceeded),
            ("never", Cause::DeadlineExceeded)
        ]
    );
    assert_eq!(page.cause(), Some(Cause::DeadlineExceeded));
}

#[tokio::test(start_paused = true)]
async fn a_required_branch_that_misses_the_deadline_is_the_error() {
    let cx = request(50);
    let result = cx
        .run(async {
            fan_out((
                required("never", pending::<Result<(), AppError>>()),
                required("cut", pending::<Result<(), AppError>>()).budget(ms(80)),
            ))
            .await
        })
        .await;
    let error = match result {
        Ok(result) => result.unwrap_err(),
        Err(stopped) => AppError::Stopped(stopped),
    };
    let AppError::Stopped(stopped) = error else {
        panic!()
    };
    assert_eq!(
        (stopped.cause(), stopped.operation()),
        (Cause::DeadlineExceeded, "never")
    );
    assert_eq!(stopped.limited_by().operation(), "request");
    // Shorter than the deadline: the dependency was too slow.
    let cx = request(200);
    let result = cx.run(async {
        fan_out((required("cut", pending::<Result<(), AppError>>()).budget(ms(80)),)).await
    });
    let AppError::Stopped(stopped) = result.await.unwrap().unwrap_err() else {
        panic!()
    };
    assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    assert_eq!(stopped.limited_by().operation(), "cut");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_every_branch() {
    let cx = request(1_000);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let branches = ["a", "b", "c"].map(|name| {
        let sees = SeesStop(name, seen.clone());
        optional(name, async move {
            let _sees = sees;
            pending::<Result<(), AppError>>().await
        })
    });
    let start = Instant::now();
    let (page, ()) = tokio::join!(cx.run(async { fan_out_all(branches).await }), async {
        sleep(ms(30)).await;
        cx.cancel(Cause::ClientCancelled);
    });
    assert_eq!(start.elapsed(), ms(30));
    let Ok(page) = page.unwrap();
    let gone = Cause::ClientCancelled;
    assert_eq!(missing(&page), [("a", gone), ("b", gone), ("c", gone)]);
    assert_eq!(page.cause(), Some(gone));
    assert_eq!(
        *seen.borrow(),
        [("a", Some(gone)), ("b", Some(gone)), ("c", Some(gone))]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_when_it_is_too_late() {
    let cx = request(50);
    sleep(ms(50)).await;
    let begun = AtomicUsize::new(0);
    let one = || async {
        begun.fetch_add(1, Relaxed);
        Ok::<_, AppError>(())
    };
    let future = cx.enter(|| fan_out((optional("a", one()), required("b", one()))));
    let Err(AppError::Stopped(stopped)) = future.await else {
        panic!()
    };
    assert_eq!(
        (stopped.cause(), stopped.phase()),
        (Cause::DeadlineExceeded, Phase::Start)
    );
    assert_eq!(stopped.operation(), "b");
    assert_eq!(begun.load(Relaxed), 0);
    // A branch that needs more than is left is refused alone.
    let cx = request(50);
    let page = cx.run(async {
        fan_out((
            required("a", one()),
            optional("b", one()).budget(Budget::inherited().min(ms(60))),
        ))
        .await
    });
    let page = page.await.unwrap().unwrap();
    assert_eq!(missing(&page), [("b", Cause::LocalBudgetRejected)]);
    assert_eq!(begun.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn ten_services_three_required() {
    let cx = request(300);
    let services = (0..10).map(|at| {
        let need = if at < 3 {
            Need::Required
        } else {
            Need::Optional
        };
        // 0 to 180 ms, two of them over 150.
        let name = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"][at];
        branch(name, need, after(20 * at as u64, at)).budget(ms(150))
    });
    let start = Instant::now();
    let run = cx.run(async { fan_out_all(services).await });
    let page = run.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), ms(150));
    assert_eq!(
        missing(&page),
        [
            ("s8", Cause::DependencyTimeout),
            ("s9", Cause::DependencyTimeout)
        ]
    );
    let there: Vec<_> = page
        .values
        .iter()
        .map(|value| value.as_ref().ok().copied())
        .collect();
    assert_eq!(there[..8], [0, 1, 2, 3, 4, 5, 6, 7].map(Some));
    assert_eq!(there[8..], [None, None]);
}

#[tokio::test(start_paused = true)]
async fn bounded_concurrency_keeps_the_order_and_counts_cut_offs_from_the_start() {
    let running = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
    let start = Instant::now();
    let page = fan_out_all((0..6_u64).map(|at| {
        let (running, most) = (&running, &most);
        optional("branch", async move {
            most.fetch_max(1 + running.fetch_add(1, Relaxed), Relaxed);
            let value = after(40, at).await;
            running.fetch_sub(1, Relaxed);
            value
        })
        .budget(ms(50))
    }))
    .at_most(2);
    let Ok(page) = page.await;
    assert!(page.is_complete());
    assert_eq!(start.elapsed(), ms(120));
    assert_eq!(most.load(Relaxed), 2);
    let values: Vec<_> = page.values.into_iter().map(Result::unwrap).collect();
    assert_eq!(values, [0, 1, 2, 3, 4, 5]);
    // Zero would never begin.
    let Ok(page) = fan_out_all((0..3).map(|at| optional("one", after(1, at))))
        .at_most(0)
        .await;
    assert!(page.is_complete());
    // Those that wait when the deadline strikes are refused.
    let cx = request(50);
    let run = cx.run(async {
        fan_out_all((0..4).map(|at| optional("one", after(40, at))))
            .at_most(1)
            .await
    });
    let Ok(page) = run.await.unwrap();
    assert_eq!(page.missing().len(), 3);
    assert_eq!(page.cause(), Some(Cause::DeadlineExceeded));
    assert_eq!(page.values[0].as_ref().unwrap(), &0);
    let phases: Vec<_> = page.values[1..]
        .iter()
        .map(|v| v.as_ref().unwrap_err().stopped().unwrap().phase())
        .collect();
    assert_eq!(phases, [Phase::Wait, Phase::Start, Phase::Start]);
}

#[tokio::test]
async fn no_branch_is_a_complete_answer() {
    let none = [0_u8; 0].map(|at| required("none", async move { Ok::<_, Stopped>(at) }));
    let page = fan_out_all(none).await.unwrap();
    assert!(page.is_complete());
    assert_eq!(page.values, [0_u8; 0]);
}

#[tokio::test(start_paused = true)]
async fn only_what_was_woken_is_polled() {
    let polls = Rc::new(RefCell::new([0_usize; 2]));
    let counted = |at: usize, polls: Rc<RefCell<[usize; 2]>>| {
        let mut sleep = Box::pin(sleep(ms(10 * (at as u64 + 1))));
        std::future::poll_fn(move |cx| {
            polls.borrow_mut()[at] += 1;
            sleep.as_mut().poll(cx).map(Ok::<_, AppError>)
        })
    };
    let Ok(_) = fan_out((
        optional("a", counted(0, polls.clone())),
        optional("b", counted(1, polls.clone())),
    ))
    .await;
    assert_eq!(*polls.borrow(), [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_branch_that_never_rests_does_not_starve_the_others() {
    let start = Instant::now();
    let cx = request(50);
    let rounds = AtomicUsize::new(0);
    // In a task of its own, so that its turns are the scheduler's.
    let page = cx.run(async {
        fan_out((
            optional("spins", async {
                loop {
                    // The paused clock moves only when all is quiet.
                    if rounds.fetch_add(1, Relaxed) > 1_000 {
                        sleep(ms(1)).await;
                    }
                    yield_now().await;
                }
                #[allow(unreachable_code)]
                Ok::<(), AppError>(())
            }),
            required("quick", after(10, 1)),
            required("slower", after(30, 2)),
        ))
        .await
    });
    let page = page.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), ms(50));
    assert_eq!(missing(&page), [("spins", Cause::DeadlineExceeded)]);
    assert_eq!((page.values.1, page.values.2), (1, 2));
}

fn three() -> impl Future<Output = Result<Gathered<Vec<Result<u64, Missed<AppError>>>>, Infallible>>
{
    fan_out_all((1..=3).map(|at| {
        optional("branch", async move {
            yield_now().await;
            sleep(ms(10 * at)).await;
            yield_now().await;
            Ok(at)
        })
    }))
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_poll_nothing_is_left() {
    let mut finished = false;
    for polls in 0.. {
        let cx = request(1_000);
        let mut future = Box::pin(cx.enter(three));
        let (_, waker) = Woken::new();
        for _ in 0..polls {
            tokio::time::advance(ms(4)).await;
            if poll(future.as_mut(), &waker).is_ready() {
                finished = true;
                break;
            }
        }
        drop(future);
        let registered = deadline_runtime::test_util::registered(&cx);
        assert_eq!(
            (registered.children, registered.waiting),
            (0, 0),
            "after {polls} polls"
        );
        if finished {
            assert!(polls > 3, "{polls}");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn inside_join_and_select() {
    let cx = request(100);
    let start = Instant::now();
    let both = cx
        .run(async { tokio::join!(three(), three()) })
        .await
        .unwrap();
    assert_eq!(start.elapsed(), ms(30));
    assert!(both.0.unwrap().is_complete() && both.1.unwrap().is_complete());
    let registered = deadline_runtime::test_util::registered(&cx);
    let lost = cx
        .run(async {
            tokio::select! {
                page = three() => Some(page.unwrap().values.len()),
                () = sleep(ms(15)) => None,
            }
        })
        .await
        .unwrap();
    assert_eq!(lost, None);
    assert_eq!((registered.children, registered.waiting), (0, 0));
    // The other way round, and in another task.
    let won = cx.enter(|| {
        let page = three();
        async move {
            tokio::select! {
                page = page => page.unwrap().values.len(),
                () = sleep(ms(50)) => 0,
            }
        }
    });
    assert_eq!(won.await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_future_sent_to_another_task_keeps_its_deadline() {
    let cx = request(50);
    let future = cx.enter(|| {
        fan_out((
            optional("never", pending::<Result<(), Stopped>>()),
            optional("ready", async {
                Ok::<_, Stopped>(Context::current().remaining())
            }),
        ))
    });
    let Ok(page) = tokio::spawn(future).await.unwrap();
    assert_eq!(missing(&page), [("never", Cause::DeadlineExceeded)]);
    assert_eq!(page.values.1.unwrap(), Some(ms(50)));
    // Awaited by another request, both bind.
    let (short, long) = (request(20), request(100));
    let future = long.enter(|| fan_out((optional("never", pending::<Result<(), Stopped>>()),)));
    let start = Instant::now();
    let Ok(page) = short.run(future).await.unwrap();
    assert_eq!(start.elapsed(), ms(20));
    assert_eq!(missing(&page), [("never", Cause::DeadlineExceeded)]);
}

#[tokio::test(start_paused = true)]
async fn without_any_context_it_is_one_request_without_a_limit() {
    let page = fan_out((
        optional("a", async {
            Ok::<_, Stopped>(Context::current().remaining())
        }),
        optional("b", pending::<Result<(), Stopped>>()).budget(ms(10)),
    ));
    let Ok(page) = page.await;
    assert_eq!(missing(&page), [("b", Cause::DependencyTimeout)]);
    assert_eq!(page.values.0.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_enforced_a_failure_still_ends_the_others() {
    for mode in [Mode::Off, Mode::Observe, Mode::Propagate] {
        let cx = Context::builder("request")
            .budget(ms(50))
            .mode(mode)
            .build();
        let start = Instant::now();
        let result = cx.run(async {
            fan_out((
                optional("never", pending::<Result<(), AppError>>()).budget(ms(10)),
                required("broken", fails::<()>(80, "broken")),
            ))
            .await
        });
        let result = result.await.unwrap();
        assert!(
            matches!(result, Err(AppError::Business("broken"))),
            "{mode:?}"
        );
        assert_eq!(start.elapsed(), ms(80));
    }
}

#[tokio::test(start_paused = true)]
async fn the_request_remembers_the_failure_and_not_the_stops_it_caused() {
    let cx = Context::builder("request")
        .budget(ms(500))
        .report(true)
        .build();
    let result =
        cx.run(async { fan_out((required("slow", inherits()), required("forty", forty()))).await });
    let Ok(Err(AppError::Stopped(stopped))) = result.await else {
        panic!()
    };
    assert_eq!(
        (stopped.operation(), stopped.cause()),
        ("forty", Cause::DependencyTimeout)
    );
    let report = cx.report().unwrap();
    let scopes: Vec<_> = report
        .scopes
        .iter()
        .map(|s| (s.operation, s.outcome.to_string()))
        .collect();
    assert!(scopes.contains(&("slow", "completed".into())), "{scopes:?}");
    assert!(
        scopes.contains(&("inherits", "sibling_failed".into())),
        "{scopes:?}"
    );
    assert!(
        scopes.contains(&("forty", "dependency_timeout".into())),
        "{scopes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn errors_read_as_sentences() {
    let Ok(page) = fan_out((
        optional("ads", pending::<Result<(), std::io::Error>>()).budget(ms(10)),
        optional("stock", async {
            Err::<(), _>(std::io::Error::other("no route"))
        }),
    ))
    .await;
    let (ads, stock) = page.values;
    let (ads, stock) = (ads.unwrap_err(), stock.unwrap_err());
    assert!(
        ads.to_string()
            .starts_with("ads stopped: dependency_timeout after 10ms of 10ms, limited by ads ("),
        "{ads}"
    );
    assert_eq!(stock.to_string(), "dependency_failed: no route");
    // A stop is found behind any wrapper.
    let wrapped = std::io::Error::other(std::io::Error::other(ads));
    assert_eq!(
        Stopped::find(&wrapped).unwrap().cause(),
        Cause::DependencyTimeout
    );
}

#[deadline(budget = "450ms")]
async fn profile() -> Result<u8, Stopped> {
    Ok(1)
}

#[deadline(budget = "300ms", plan = "100ms")]
async fn orders() -> Result<u8, Stopped> {
    Ok(2)
}

/// 450 + 50: the longest branch and no more.
#[deadline(budget = "500ms", reserve = "50ms")]
async fn fits() -> Result<u8, Stopped> {
    let page = fan_out((
        required("profile", profile()),
        required("again", profile()),
        required("orders", orders()),
    ))
    .await?;
    Ok(page.values.0 + page.values.1 + page.values.2)
}

/// A cut-off at run time is not counted: what it narrows may declare more than there is.
#[deadline(budget = "200ms")]
async fn narrows() -> Result<u8, Stopped> {
    let page = fan_out((
        required("profile", profile()).budget(ms(150)),
        required("orders", orders()).capped::<Millis<150>>(),
    ))
    .await?;
    Ok(page.values.0 + page.values.1)
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_declares_its_longest_branch() {
    fn declares<B>(_: &impl Budgeted<Budget = B>) {}
    let tuple = fan_out((required("profile", profile()), optional("orders", orders())));
    declares::<Longest<(Millis<450>, Millis<300, 100>)>>(&tuple);
    let list = fan_out_all([required("profile", profile())]);
    declares::<Millis<450>>(&list);
    let mixed = fan_out((
        optional("a", pending::<Result<(), Stopped>>()).budget(ms(10)),
        optional("b", pending::<Result<(), Stopped>>()).capped::<Millis<20>>(),
    ));
    declares::<Longest<(Unbudgeted, Millis<20>)>>(&mixed);
    let Ok(page) = mixed.await;
    assert_eq!(
        page.values.1.unwrap_err().stopped().unwrap().budget(),
        Some(ms(20))
    );
    assert_eq!((fits().await.unwrap(), narrows().await.unwrap()), (4, 3));
}

#[deadline(budget = "500ms")]
async fn with_a_fallback() -> Result<&'static str, AppError> {
    #[budget("80ms", fallback = "nothing")]
    let whole = one_of_two(true).await?;
    #[budget("80ms", fallback = "nothing")]
    let part = one_of_two(false).await?;
    assert_eq!((whole, part), ("nothing", "part"));
    #[budget("80ms", fallback = "nothing")]
    let direct = fan_out((
        required("never", pending::<Result<(), AppError>>()),
        required("quick", after(10, ())),
    ))
    .await
    .map(|_| "whole")?;
    Ok(direct)
}

async fn one_of_two(need_it: bool) -> Result<&'static str, AppError> {
    let need = if need_it {
        Need::Required
    } else {
        Need::Optional
    };
    let page = fan_out_all([
        branch("quick", Need::Required, after(10, ())),
        branch("slow", need, after(1_000, ())),
    ])
    .await?;
    Ok(if page.is_complete() { "whole" } else { "part" })
}

#[tokio::test(start_paused = true)]
async fn under_a_statement_budget_it_ends_by_that_and_its_fallback_serves() {
    let cx = Context::root("request", Budget::inherited());
    let start = Instant::now();
    assert_eq!(cx.run(with_a_fallback()).await.unwrap().unwrap(), "nothing");
    assert_eq!(start.elapsed(), ms(240));
    let recorded: Vec<_> = cx.missing().iter().map(|m| m.operation()).collect();
    assert_eq!(recorded, ["one_of_two", "slow", "fan_out"]);
}

#[tokio::test(start_paused = true)]
async fn spawned_branches_obey_the_same_rules() {
    let tracker = Tracker::new();
    let cx = Context::builder("request")
        .budget(ms(300))
        .tracker(&tracker)
        .build();
    let tasks = tokio::runtime::Handle::current().metrics();
    let before = tasks.num_alive_tasks();
    let start = Instant::now();
    let page = cx.run(async {
        fan_out((
            required("a", after(30, 1)).spawned(),
            optional("cut", after(900, 2)).budget(ms(100)).spawned(),
            optional("broken", fails::<u8>(10, "no")).spawned(),
            required("here", after(20, 3)),
        ))
        .await
    });
    let page = page.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), ms(100));
    assert_eq!(
        missing(&page),
        [
            ("cut", Cause::DependencyTimeout),
            ("broken", Cause::DependencyFailed)
        ]
    );
    assert_eq!((page.values.0, page.values.3), (1, 3));
    let cut = page.values.1.unwrap_err();
    assert_eq!(cut.stopped().unwrap().limited_by().operation(), "cut");
    assert!(tracker.wait(ms(0)).await.is_ok(), "{:?}", tracker.stats());
    assert_eq!(tasks.num_alive_tasks(), before);

    // A failure stops them and waits for that.
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    let result = cx.run(async move {
        fan_out((
            required("spawned", async move {
                struct Told(Arc<Mutex<Vec<Option<Cause>>>>);
                impl Drop for Told {
                    fn drop(&mut self) {
                        self.0.lock().unwrap().push(Context::current().cause());
                    }
                }
                let _told = Told(told);
                pending::<Result<(), AppError>>().await
            })
            .spawned(),
            required("broken", fails::<()>(20, "broken")),
        ))
        .await
    });
    assert!(matches!(
        result.await.unwrap(),
        Err(AppError::Business("broken"))
    ));
    assert_eq!(*seen.lock().unwrap(), [Some(Cause::SiblingFailed)]);
    assert_eq!(tasks.num_alive_tasks(), before);
    assert_nothing_left(&cx);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_leaves_what_a_spawned_branch_has_finished() {
    let cx = request(50);
    let page = cx.run(async {
        fan_out((
            required("quick", after(10, 1)).spawned(),
            optional("never", pending::<Result<(), AppError>>()).spawned(),
            optional("same", after(50, 2)).spawned(),
        ))
        .await
    });
    let page = page.await.unwrap().unwrap();
    assert_eq!(page.values.0, 1);
    let causes: Vec<_> = page.missing().iter().map(|m| m.cause()).collect();
    assert!(
        causes.iter().all(|cause| *cause == Cause::DeadlineExceeded),
        "{causes:?}"
    );
    assert!(page.missing().iter().any(|m| m.operation() == "never"));
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_with_spawned_branches_that_is_dropped_leaves_no_task() {
    let tasks = tokio::runtime::Handle::current().metrics();
    let before = tasks.num_alive_tasks();
    let cx = request(1_000);
    let lost = cx.run(async {
        tokio::select! {
            page = fan_out((optional("never", pending::<Result<(), AppError>>()).spawned(),)) => page.is_ok(),
            () = sleep(ms(15)) => false,
        }
    });
    assert!(!lost.await.unwrap());
    run_until_idle().await;
    assert_eq!(tasks.num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "in the task")]
async fn a_panic_of_a_spawned_branch_goes_on_in_the_fan_out() {
    let branch = async {
        if ready(true).await {
            panic!("in the task");
        }
        Ok::<(), AppError>(())
    };
    let _ = fan_out((required("panics", branch).spawned(),)).await;
}
