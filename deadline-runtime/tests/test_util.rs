//! The helpers that users' tests stand on, with a function as a service team would have it.
#![allow(missing_docs)]

use std::future::ready;
use std::time::Duration;

use deadline_runtime::{Cause, Stopped, deadline, test_util};
use tokio::time::sleep;

#[derive(Debug)]
enum AppError {
    Stopped(Stopped),
}

impl From<Stopped> for AppError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

#[deadline(min = "10ms")]
async fn answer(rounds: u32) -> Result<u32, AppError> {
    let user = load(7).await?;
    ready(()).await;
    let mut sum = user;
    for round in 0..rounds {
        sum += round;
    }
    #[budget("50ms")]
    sleep(Duration::from_millis(5)).await;
    Ok(sum)
}

#[deadline(budget = "20ms")]
async fn load(user: u32) -> Result<u32, AppError> {
    Ok(user)
}

fn cause(outcome: Result<u32, AppError>) -> Result<u32, Cause> {
    outcome.map_err(|AppError::Stopped(stopped)| stopped.cause())
}

#[tokio::test(start_paused = true)]
async fn a_function_runs_with_a_budget_or_as_expired() {
    let enough = test_util::run_with_budget(Duration::from_millis(100), || answer(2)).await;
    assert_eq!(cause(enough), Ok(8));
    let short = test_util::run_with_budget(Duration::from_millis(9), || answer(2)).await;
    assert_eq!(cause(short), Err(Cause::LocalBudgetRejected));
    let expired = test_util::run_expired(|| answer(2)).await;
    assert_eq!(cause(expired), Err(Cause::DeadlineExceeded));
}

#[tokio::test(start_paused = true)]
async fn every_early_return_can_be_taken_once() {
    // The function, what it calls, an await, two rounds, and a statement under a budget.
    for n in 1..=6 {
        let outcome = test_util::run_stopped_at(n, Cause::ClientCancelled, || answer(2)).await;
        assert_eq!(
            cause(outcome),
            Err(Cause::ClientCancelled),
            "checkpoint {n}"
        );
    }
    let through = test_util::run_stopped_at(7, Cause::ClientCancelled, || answer(2)).await;
    assert_eq!(cause(through), Ok(8));
}
