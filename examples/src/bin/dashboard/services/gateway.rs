//! The gateway: a dashboard made of a profile and orders, asked for at the same time.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Extension, Router};
use deadline_runtime::{Context, deadline};
use serde::Deserialize;

use super::{World, granted, request_id};
use crate::error::AppError;

#[derive(Clone, Copy)]
pub struct Backends {
    pub profile: SocketAddr,
    pub orders: SocketAddr,
    pub crunch: SocketAddr,
}

#[derive(Deserialize)]
struct Wish {
    /// How long the query behind the orders takes, in milliseconds.
    #[serde(default)]
    ms: u64,
    /// How long the gateway works before it asks anybody.
    #[serde(default)]
    first: u64,
}

#[derive(Deserialize)]
struct Below {
    below: u64,
}

pub fn app(backends: Backends) -> Router<World> {
    Router::new()
        .route("/", get(dashboard))
        .route("/primes", get(primes))
        .layer(Extension(backends))
}

#[deadline(min = "50ms")]
async fn dashboard(
    State(world): State<World>,
    Extension(backends): Extension<Backends>,
    Query(wish): Query<Wish>,
    headers: HeaderMap,
) -> Result<String, AppError> {
    let context = Context::current();
    let hop = world
        .journal
        .start(&request_id(&context), "gateway", granted(&headers));
    world.remember(&context);
    if wish.first > 0 {
        tokio::time::sleep(Duration::from_millis(wish.first)).await;
    }
    let (profile, orders) = tokio::try_join!(
        load_profile(&world, backends),
        load_orders(&world, backends, wish.ms)
    )?;
    hop.finish();
    Ok(format!("{profile}: {orders}\n"))
}

#[deadline(budget = "800ms")]
async fn load_profile(world: &World, backends: Backends) -> Result<String, AppError> {
    world.call(backends.profile, "/").await
}

#[deadline]
async fn load_orders(world: &World, backends: Backends, ms: u64) -> Result<String, AppError> {
    world.call(backends.orders, &format!("/?ms={ms}")).await
}

#[deadline]
async fn primes(
    State(world): State<World>,
    Extension(backends): Extension<Backends>,
    Query(Below { below }): Query<Below>,
    headers: HeaderMap,
) -> Result<String, AppError> {
    let hop = world.journal.start(
        &request_id(&Context::current()),
        "gateway",
        granted(&headers),
    );
    let answer = world
        .call(backends.crunch, &format!("/?below={below}"))
        .await?;
    hop.finish();
    Ok(answer)
}
