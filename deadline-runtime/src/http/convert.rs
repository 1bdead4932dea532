//! A stop as the types handlers answer with.

use ::http::{Response, StatusCode};
use bytes::Bytes;

use super::answer::Answer;
use super::status;
use crate::context::current;
use crate::stop::Stopped;

impl From<Stopped> for StatusCode {
    /// The status of the cause; see [`status`].
    fn from(stopped: Stopped) -> Self {
        status(stopped.cause())
    }
}

impl From<Stopped> for (StatusCode, String) {
    /// The status and the word of the cause. Nothing else: the text of a stop names operations and source files, which
    /// are not for the public.
    fn from(stopped: Stopped) -> Self {
        (status(stopped.cause()), stopped.cause().as_str().to_owned())
    }
}

impl<B: From<Bytes>> From<Stopped> for Response<B> {
    /// `application/problem+json` with the status of the cause, `x-deadline-cause` and the request id. The text of the
    /// stop is not in it: it names operations and source files.
    fn from(stopped: Stopped) -> Self {
        let stop = stopped.brief();
        let answer = Answer {
            request_id: current::with(|frame| frame.node().request_id()).flatten(),
            ..Answer::default()
        };
        let mut response = answer.response(stop.cause).map(B::from);
        // For the layer, which makes the request's event and knows whether the caller may see details.
        response.extensions_mut().insert(stop);
        response
    }
}
