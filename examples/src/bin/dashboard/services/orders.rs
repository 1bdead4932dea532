//! The dependency that can be slow, because its query is.

use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use deadline_runtime::{Context, deadline};
use serde::Deserialize;

use super::{World, granted, request_id};
use crate::error::AppError;

#[derive(Deserialize)]
struct Slow {
    /// How long the query takes, in milliseconds.
    #[serde(default)]
    ms: u64,
}

pub fn app() -> Router<World> {
    Router::new().route("/", get(orders))
}

#[deadline(min = "20ms")]
async fn orders(
    State(world): State<World>,
    Query(slow): Query<Slow>,
    headers: HeaderMap,
) -> Result<String, AppError> {
    let request = request_id(&Context::current());
    let hop = world.journal.start(&request, "orders", granted(&headers));
    let items = world
        .database
        .orders(request, "ada".into(), Duration::from_millis(slow.ms))
        .await?;
    hop.finish();
    Ok(items.join(", "))
}
