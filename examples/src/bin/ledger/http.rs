//! The service over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `POST /payments`, `idempotency-key` | 201 paid; 402 declined; 202 accepted, it will be made; 409 with `retry-after`, it is being made; 422, the key is another order's |
//! | `GET /payments/{key}` | 200 with `pending`, `paid` or `declined`; 404 |
//!
//! After a 504, or no answer at all, nobody knows: that is what the second line is for, or the first one again.

use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use deadline_runtime::deadline;
use deadline_runtime::http::{DeadlineLayer, Policy};
use serde_json::{Value, json};

use crate::error::AppError;
use crate::order::{Body, Order, Payment, is_key};
use crate::service::Service;
use crate::store::Store;

/// The most a request may take, whatever its client says.
const MAX: Duration = Duration::from_secs(8);

pub fn app<S: Store>(service: Service<S>) -> Router {
    let policy = Policy::new()
        .max(MAX)
        .default(MAX)
        .reserve(Duration::from_millis(20));
    Router::new()
        .route("/payments", post(pay::<S>))
        .route("/payments/{key}", get(find::<S>))
        .with_state(service)
        .layer(DeadlineLayer::new("ledger", policy))
}

#[deadline]
async fn pay<S: Store>(
    State(service): State<Service<S>>,
    headers: HeaderMap,
    body: Result<Json<Body>, JsonRejection>,
) -> Result<Response, AppError> {
    let key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok())
        .filter(|key| is_key(key))
        .ok_or(AppError::BadRequest(
            "`idempotency-key` is missing or not 1 to 64 visible ASCII characters",
        ))?;
    let Ok(Json(body)) = body else {
        return Err(AppError::BadRequest(
            "accepted is {\"account\": text, \"cents\": number}",
        ));
    };
    if body.cents <= 0 {
        return Err(AppError::BadRequest("`cents` has to be more than 0"));
    }
    let key = key.to_owned();
    let answer = service.pay(&Order { key, body }).await?;
    let status = match answer.payment.status() {
        "paid" => StatusCode::CREATED,
        "declined" => StatusCode::PAYMENT_REQUIRED,
        _ => StatusCode::ACCEPTED,
    };
    let place = format!("/payments/{}", answer.payment.key);
    let mut response =
        (status, [(header::LOCATION, place)], shown(&answer.payment)).into_response();
    if answer.replayed {
        let name = HeaderName::from_static("idempotent-replayed");
        let yes = header::HeaderValue::from_static("true");
        response.headers_mut().insert(name, yes);
    }
    Ok(response)
}

#[deadline]
async fn find<S: Store>(
    State(service): State<Service<S>>,
    Path(key): Path<String>,
) -> Result<Json<Value>, AppError> {
    let found = service.store.find(&key).await?;
    found.as_ref().map(shown).ok_or(AppError::NotFound)
}

fn shown(payment: &Payment) -> Json<Value> {
    Json(json!({
        "key": payment.key,
        "status": payment.status(),
        "charge": payment.charge(),
    }))
}
