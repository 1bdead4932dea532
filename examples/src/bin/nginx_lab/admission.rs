//! How many requests the API works on at once: four, and the fifth is told to come again.

use axum::BoxError;
use axum::Router;
use axum::error_handling::HandleErrorLayer;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use deadline_runtime::{Cause, Context};
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;

pub const SLOTS: usize = 4;

/// Puts the limit around an app. It belongs below the deadline's layer, so that waiting for it would count.
pub fn limited(app: Router) -> Router {
    app.layer(
        ServiceBuilder::new()
            .layer(HandleErrorLayer::new(overloaded))
            .layer(LoadShedLayer::new())
            .layer(GlobalConcurrencyLimitLayer::new(SLOTS)),
    )
}

/// tower says that it is full, but neither with which status nor when to come again: as a stop it has both.
async fn overloaded(_: BoxError) -> Response {
    let request = Context::current();
    request.cancel(Cause::Overload);
    match request.check() {
        Err(stopped) => stopped.into_response(),
        // Outside of a request.
        Ok(()) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
