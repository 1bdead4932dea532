//! The services' error: what a team would have anyway, and `From<Stopped>`.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deadline_runtime::Stopped;
use deadline_runtime::data::sqlite;

#[derive(Debug)]
pub enum AppError {
    Stopped(Stopped),
    /// A dependency answered with a failure or could not be reached.
    Dependency(String),
    Database(sqlite::Error),
    /// A task of ours panicked or was aborted.
    Task(tokio::task::JoinError),
}

impl From<Stopped> for AppError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<sqlite::Error> for AppError {
    fn from(error: sqlite::Error) -> Self {
        match error {
            sqlite::Error::Stopped(stopped) => Self::Stopped(stopped),
            error => Self::Database(error),
        }
    }
}

impl From<reqwest::Error> for AppError {
    fn from(error: reqwest::Error) -> Self {
        Self::Dependency(error.without_url().to_string())
    }
}

impl From<tokio::task::JoinError> for AppError {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::Task(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            Self::Stopped(stopped) => stopped.into_response(),
            Self::Dependency(what) => {
                tracing::warn!(what, "a dependency failed");
                StatusCode::BAD_GATEWAY.into_response()
            }
            // The catch-all that most services have: the layer replaces it when the request was stopped.
            Self::Database(error) => {
                tracing::error!(%error, "database");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
            Self::Task(error) => {
                tracing::error!(%error, "task");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
