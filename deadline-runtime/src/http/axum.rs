//! A stop as the answer of an axum handler, and the context as an argument.

use std::convert::Infallible;

use ::http::request::Parts;
use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};

use crate::context::Context;
use crate::stop::Stopped;

impl IntoResponse for Stopped {
    /// The answer that `http::Response::from` makes: `application/problem+json`, without anything that is not public.
    fn into_response(self) -> Response {
        self.into()
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
