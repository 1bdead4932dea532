//! The life of a scope, one row of its table after the other: how often the body is polled, when it is dropped, which stop is recorded.
//!
//! | phase | here | in depth |
//! |---|---|---|
//! | admit | `admit` | `refusals`: `the_body_is_never_entered_…`, `what_it_says`, `a_deadline_can_be_required`; `scope`: `below_the_minimum_is_refused_and_equality_runs`, `an_expired_scope_never_enters_its_body` |
//! | run | `run` | `scope`: `a_loop_that_never_yields_stops_at_its_checkpoint`, `foreign_wakers_get_their_own_timer`; `stress`: `ten_thousand_tasks_with_late_timers_stop`, `the_clock_stops_them_where_no_timer_gets_a_turn`; `holes`: `a_body_that_uses_up_the_cooperative_budget_still_expires` and the runtimes |
//! | deliver | `deliver` | `cleanup`: `without_cleanup_the_body_gets_one_more_poll_and_one_hop`, `the_body_sees_the_stop_…`, `tidying_ends_at_the_hard_deadline`; `scope`: `a_value_one_hop_away_is_kept`, `a_shield_holds_…`; `holes`: `a_shield_several_levels_down_is_waited_for_by_all`; cause, flag, wake in every interleaving: `context/interleavings.rs` |
//! | redeliver | | `cleanup`: `redelivered_once_a_turn`, `a_loop_that_swallows_the_stop_is_soon_shown_it_once_a_tick`, `a_loop_that_swallows_the_stop_is_dropped_…`; `refusals`: `a_loop_that_swallows_refusals_…` |
//! | drop | `the_body_has_let_go_of_its_lock_when_its_caller_has_the_error` | `holes`: `the_body_is_dropped_before_the_fallback_runs`; `events`: `destructors_of_a_stopped_body_log_inside_the_context` |
//! | value at the limit | `a_value_at_the_limit` | `causes`: `a_value_that_is_ready_is_a_value_even_when_late`, `a_business_error_at_the_limit_is_that_error`; a commit is not begun after expiry: `postgres_sqlx_commit`, `end_to_end` |
//! | dropped from outside | `dropped_from_outside` | `causes`: `who_is_dropped_from_outside_records_why`, `a_child_dropped_with_its_cancelled_parent_…`; every gauge at zero: `tasks_fuzz`, `together_fuzz` |
//! | causes by logical time, 200 ties | | `causes`: `a_cancel_on_the_instant_of_the_limit_is_the_limit_whoever_is_first`, `a_cancel_on_the_instant_of_a_childs_own_limit_…`, `the_order_of_events_decides_…`, `a_cancel_after_…` |
//! | owner, ties to the ancestor | | `causes`: `on_a_tie_the_limit_is_the_ancestors`, `a_tie_with_what_is_left_after_the_reserve_is_a_tie`, `an_ancestors_limit_keeps_its_owner_…` |
//! | inner stops are not outer ones | | `causes`: `an_inner_timeout_is_never_taken_for_an_outer_one`; `scope`: `a_missed_cap_is_not_hidden_…` |
//! | all of it together | | `model`: random trees against a plain reference |
#![allow(missing_docs, unused_braces, clippy::all, clippy::pedantic)]

#[macro_use]
mod common;

use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll};

use common::{ms, poll_here};
use deadline_runtime::{Budget, Cause, Context, Millis, Outcome, Phase, Stopped};
use tokio::time::{Duration, Instant, sleep};

/// What has become of a body.
#[derive(Debug, Default, Clone, PartialEq)]
struct Body {
    polls: u32,
    /// How long after the start it was dropped, and the cause that its destructor saw.
    dropped: Option<(Duration, Option<Cause>)>,
}

struct Probe<F> {
    inner: Pin<Box<F>>,
    start: Instant,
    body: Arc<Mutex<Body>>,
}

impl<F: Future> Future for Probe<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<F::Output> {
        self.body.lock().unwrap().polls += 1;
        self.inner.as_mut().poll(cx)
    }
}

impl<F> Drop for Probe<F> {
    fn drop(&mut self) {
        let seen = (self.start.elapsed(), Context::current().cause());
        self.body.lock().unwrap().dropped = Some(seen);
    }
}

fn probe<F: Future>(inner: F) -> (Probe<F>, Arc<Mutex<Body>>) {
    let body = Arc::default();
    let probe = Probe {
        inner: Box::pin(inner),
        start: Instant::now(),
        body: Arc::clone(&body),
    };
    (probe, body)
}

fn root(budget: Budget) -> Context {
    Context::builder("request")
        .budget(budget)
        .report(true)
        .build()
}

fn recorded(cx: &Context) -> Vec<Outcome> {
    let report = cx.report().unwrap();
    report.scopes.iter().map(|scope| scope.outcome).collect()
}

#[tokio::test(start_paused = true)]
async fn admit() {
    let expired = root(Budget::new(ms(0)));
    let cancelled = root(Budget::new(ms(10)));
    cancelled.cancel(Cause::ClientCancelled);
    let little = root(Budget::new(ms(10)).min(ms(11)));
    for (cx, cause) in [
        (expired, Cause::DeadlineExceeded),
        (cancelled, Cause::ClientCancelled),
        (little, Cause::LocalBudgetRejected),
    ] {
        let (probe, body) = probe(ready(1));
        let stopped = cx.run(probe).await.unwrap_err();
        assert_eq!((stopped.cause(), stopped.phase()), (cause, Phase::Start));
        assert_eq!(stopped.limited_by().operation(), "request");
        let body = body.lock().unwrap().clone();
        assert_eq!((body.polls, body.dropped.is_some()), (0, true), "{cause}");
    }
    // Equality runs.
    let (probe, body) = probe(ready(1));
    let enough = root(Budget::new(ms(10)).min(ms(10)));
    assert_eq!(enough.run(probe).await.unwrap(), 1);
    assert_eq!(body.lock().unwrap().polls, 1);
}

#[tokio::test(start_paused = true)]
async fn run() {
    // Ready at once: neither the clock nor a cancel that comes during the poll takes it away.
    let cx = root(Budget::new(ms(10)));
    let cancelling = cx.clone();
    let (probe_one, body) = probe(async move { cancelling.cancel(Cause::ClientCancelled) });
    assert!(cx.run(probe_one).await.unwrap());
    assert_eq!(body.lock().unwrap().polls, 1);
    assert_eq!(recorded(&cx), [Outcome::Completed]);
    // Pending: polled when it is woken, and no oftener.
    let cx = root(Budget::new(ms(10)));
    let (probe, body) = probe(sleep(ms(9)));
    cx.run(probe).await.unwrap();
    assert_eq!(body.lock().unwrap().polls, 2);
    assert_eq!(recorded(&cx), [Outcome::Completed]);
}

#[tokio::test(start_paused = true)]
async fn deliver() {
    // By the clock and by a cancel: polled once at first, once at the end, once more with the stop visible and once after
    // one turn of the scheduler; then dropped, inside its context.
    for cancel in [None, Some(Cause::UserCancelled)] {
        let cx = root(Budget::new(ms(10)));
        let (probe, body) = probe(pending::<()>());
        let run = tokio::spawn(cx.run(probe));
        if let Some(cause) = cancel {
            sleep(ms(4)).await;
            cx.cancel(cause);
        }
        let stopped = run.await.unwrap().unwrap_err();
        let cause = cancel.unwrap_or(Cause::DeadlineExceeded);
        let at = if cancel.is_some() { ms(4) } else { ms(10) };
        assert_eq!((stopped.cause(), stopped.elapsed()), (cause, at));
        assert_eq!(stopped.limited_by().operation(), "request");
        let expected = Body {
            polls: 4,
            dropped: Some((at, Some(cause))),
        };
        assert_eq!(*body.lock().unwrap(), expected);
        assert_eq!(recorded(&cx), [Outcome::Stopped(cause)]);
    }
    // With a cleanup: at the end of work, and at the end of the cleanup.
    let (probe, body) = probe(pending::<()>());
    let outcome: Result<(), Stopped> = scoped!(Millis<30>, "tidy".cleanup(10), {
        probe.await;
        Ok(())
    })
    .await;
    let stopped = outcome.unwrap_err();
    assert_eq!(stopped.elapsed(), ms(30));
    let body = body.lock().unwrap().clone();
    assert_eq!(body.dropped.unwrap().0, ms(30));
}

#[tokio::test(start_paused = true)]
async fn the_body_has_let_go_of_its_lock_when_its_caller_has_the_error() {
    let lock = tokio::sync::Mutex::new(0);
    let inside = &lock;
    let outcome: Result<(), Stopped> = scoped!(Millis<20>, "locked", {
        let held = inside.lock().await;
        pending::<()>().await;
        drop(held);
        Ok(())
    })
    .await;
    assert!(outcome.is_err() && lock.try_lock().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_value_at_the_limit() {
    // Ready in the very poll that crosses it: kept, on time at the limit itself, late after it.
    for (takes, outcome) in [(10, Outcome::Completed), (25, Outcome::Late(ms(15)))] {
        let cx = root(Budget::new(ms(10)));
        let (probe, body) = probe(async move {
            sleep(ms(5)).await;
            tokio::time::advance(ms(takes - 5)).await;
            7
        });
        assert_eq!(cx.run(probe).await.unwrap(), 7);
        assert_eq!(recorded(&cx), [outcome], "{takes}");
        assert!(body.lock().unwrap().polls >= 2);
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_from_outside() {
    for (cancel, cause) in [
        (None, Cause::Abandoned),
        (Some(Cause::ClientCancelled), Cause::ClientCancelled),
    ] {
        let cx = root(Budget::new(ms(10)));
        let (probe, body) = probe(pending::<()>());
        let mut run = Box::pin(cx.run(probe));
        assert!(poll_here(run.as_mut()).await.is_pending());
        sleep(ms(3)).await;
        if let Some(cancel) = cancel {
            cx.cancel(cancel);
        }
        drop(run);
        assert_eq!(recorded(&cx), [Outcome::Stopped(cause)]);
        let body = body.lock().unwrap().clone();
        assert_eq!((body.polls, body.dropped), (1, Some((ms(3), cancel))));
    }
    // Not begun: nothing to record.
    let cx = root(Budget::new(ms(10)));
    drop(cx.run(pending::<()>()));
    assert_eq!(recorded(&cx), []);
}
