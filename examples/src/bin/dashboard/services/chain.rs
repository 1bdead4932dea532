//! Four hops in a row, twice: each with a timeout of its own, and under one deadline.
//!
//! Each hop does its own work and then asks the next one. With timeouts of their own nobody knows that the client
//! has left: the work runs in tasks, as it does in most services that want to finish what they began.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Extension, Router};
use deadline_runtime::{Context, deadline};

use super::{World, granted, request_id};
use crate::error::AppError;

pub const HOPS: [&str; 4] = ["hop 1", "hop 2", "hop 3", "hop 4"];
/// What each hop works.
pub const WORK: Duration = Duration::from_millis(750);
/// What each hop waits for its own work, and again for the next hop.
const OWN_TIMEOUT: Duration = Duration::from_millis(800);

#[derive(Clone, Copy)]
struct Hop {
    name: &'static str,
    next: Option<SocketAddr>,
}

/// A hop under the request's deadline.
pub fn shared_app(name: &'static str, next: Option<SocketAddr>) -> Router<World> {
    Router::new()
        .route("/", get(shared))
        .layer(Extension(Hop { name, next }))
}

/// A hop with timeouts of its own; it knows nothing of us.
pub fn own_app(name: &'static str, next: Option<SocketAddr>) -> Router<World> {
    Router::new()
        .route("/", get(own))
        .layer(Extension(Hop { name, next }))
}

async fn own(
    State(world): State<World>,
    Extension(hop): Extension<Hop>,
    headers: HeaderMap,
) -> Result<String, AppError> {
    let request = headers
        .get("x-request-id")
        .and_then(|id| id.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let work = async move {
        let entry = world.journal.start(&request, hop.name, None);
        let worked = tokio::time::timeout(OWN_TIMEOUT, tokio::time::sleep(WORK)).await;
        worked.map_err(|_| AppError::Dependency("own work".into()))?;
        entry.finish();
        let Some(next) = hop.next else {
            return Ok("done".to_owned());
        };
        let call = world
            .client
            .get(format!("http://{next}/"))
            .header("x-request-id", &request);
        let answer = tokio::time::timeout(OWN_TIMEOUT, call.send()).await;
        let answer = answer.map_err(|_| AppError::Dependency("the next hop".into()))?;
        Ok(answer?.text().await?)
    };
    tokio::spawn(work).await?
}

#[deadline]
async fn shared(
    State(world): State<World>,
    Extension(hop): Extension<Hop>,
    headers: HeaderMap,
) -> Result<String, AppError> {
    let entry = world.journal.start(
        &request_id(&Context::current()),
        hop.name,
        granted(&headers),
    );
    tokio::time::sleep(WORK).await;
    entry.finish();
    match hop.next {
        Some(next) => world.call(next, "/").await,
        None => Ok("done".to_owned()),
    }
}
