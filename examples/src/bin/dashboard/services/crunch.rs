//! The dependency that computes: a loop that never gives its thread away.

use axum::Router;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use deadline_runtime::{Context, Stopped, checkpoint, deadline};
use serde::Deserialize;

use super::{World, granted, request_id};
use crate::error::AppError;

#[derive(Deserialize)]
struct Limit {
    below: u64,
}

pub fn app() -> Router<World> {
    Router::new().route("/", get(crunch))
}

#[deadline]
async fn crunch(
    State(world): State<World>,
    Query(limit): Query<Limit>,
    headers: HeaderMap,
) -> Result<String, AppError> {
    let hop = world.journal.start(
        &request_id(&Context::current()),
        "crunch",
        granted(&headers),
    );
    let primes = count_primes(limit.below)?;
    hop.finish();
    Ok(primes.to_string())
}

/// Synchronous code takes part through `#[checkpoint]`: each iteration asks whether the request is over.
#[checkpoint]
fn count_primes(below: u64) -> Result<u64, Stopped> {
    let mut primes = 0;
    for candidate in 2..below {
        if (2..=candidate)
            .take_while(|divisor| divisor * divisor <= candidate)
            .all(|divisor| candidate % divisor != 0)
        {
            primes += 1;
        }
    }
    Ok(primes)
}
