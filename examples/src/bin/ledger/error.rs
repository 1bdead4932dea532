//! What a request can end with besides its answer.

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deadline_runtime::{Cause, Stopped};
use serde_json::json;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug)]
pub enum AppError {
    /// The request itself is at fault.
    BadRequest(&'static str),
    /// The key belongs to another order.
    OtherOrder,
    /// A request with this key is at work.
    AtWork,
    NotFound,
    Stopped(Stopped),
    /// Everything else, with a stop or the outcome of a commit somewhere in it, perhaps.
    Other(BoxError),
}

impl From<Stopped> for AppError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<BoxError> for AppError {
    fn from(error: BoxError) -> Self {
        Self::Other(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let problem = |status: StatusCode, error: &str| {
            let json = json!({ "status": status.as_u16(), "error": error });
            let kind = [(header::CONTENT_TYPE, "application/problem+json")];
            (status, kind, Json(json)).into_response()
        };
        match self {
            Self::BadRequest(what) => problem(StatusCode::BAD_REQUEST, what),
            Self::OtherOrder => problem(
                StatusCode::UNPROCESSABLE_ENTITY,
                "this idempotency key was used with another order",
            ),
            Self::AtWork => {
                let mut response =
                    problem(StatusCode::CONFLICT, "this payment is being made right now");
                let headers = response.headers_mut();
                headers.insert(header::RETRY_AFTER, 1.into());
                response
            }
            Self::NotFound => problem(StatusCode::NOT_FOUND, "no such payment"),
            Self::Stopped(stopped) => stopped.into_response(),
            Self::Other(error) => {
                let status = match Stopped::find(&*error).map(Stopped::cause) {
                    Some(cause) => deadline_runtime::http::status(cause),
                    None => StatusCode::INTERNAL_SERVER_ERROR,
                };
                tracing::warn!(%error, "a payment was not brought to its end");
                let cause = Stopped::find(&*error).map_or(Cause::DependencyFailed, Stopped::cause);
                let name = HeaderName::from_static("x-deadline-cause");
                ([(name, cause.as_str())], problem(status, cause.as_str())).into_response()
            }
        }
    }
}
