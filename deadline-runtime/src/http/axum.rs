//! A stop as the answer of an axum handler, and the context as an argument.

use std::convert::Infallible;

use ::http::request::Parts;
use axum_core::body::Body;
use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};

use super::answer::Answer;
use crate::context::{Context, current};
use crate::stop::Stopped;

impl IntoResponse for Stopped {
    /// `application/problem+json` with the status of the cause, `x-deadline-cause` and the request id. The text of the
    /// stop is not in it: it names operations and source files.
    fn into_response(self) -> Response {
        let stop = self.brief();
        let answer = Answer {
            request_id: current::with(|frame| frame.node().request_id()).flatten(),
            ..Answer::default()
        };
        let mut response = answer.response(stop.cause).map(Body::from);
        // For the layer, which makes the request's event and knows whether the caller may see details.
        response.extensions_mut().insert(stop);
        response
    }
}

/// The context of the request, as the layer has made it; [`Context::current`] without a layer, so that a handler can
/// be called in a test as it is.
impl<S: Sync> FromRequestParts<S> for Context {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let context = parts.extensions.get::<Self>().cloned();
        Ok(context.unwrap_or_else(Self::current))
    }
}
