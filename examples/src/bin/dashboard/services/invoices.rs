//! A write: priced first, then an invoice and its event in one transaction.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use deadline_runtime::{Context, deadline};

use super::{World, granted, request_id};
use crate::error::AppError;

/// How long pricing takes.
pub const PRICING: Duration = Duration::from_millis(300);

pub fn app() -> Router<World> {
    Router::new().route("/invoices", post(create))
}

#[deadline(budget = "1s", min = "50ms")]
async fn create(State(world): State<World>, headers: HeaderMap) -> Result<StatusCode, AppError> {
    let request = request_id(&Context::current());
    let hop = world.journal.start(&request, "invoices", granted(&headers));
    tokio::time::sleep(PRICING).await;
    world.database.invoice(request, "ada".into()).await?;
    hop.finish();
    Ok(StatusCode::CREATED)
}
