//! The fast dependency.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use deadline_runtime::{Context, deadline};

use super::{World, granted, request_id};
use crate::error::AppError;

pub fn app() -> Router<World> {
    Router::new().route("/", get(profile))
}

#[deadline(budget = "800ms", min = "20ms")]
async fn profile(State(world): State<World>, headers: HeaderMap) -> Result<&'static str, AppError> {
    let hop = world.journal.start(
        &request_id(&Context::current()),
        "profile",
        granted(&headers),
    );
    tokio::time::sleep(Duration::from_millis(20)).await;
    hop.finish();
    Ok("ada")
}
