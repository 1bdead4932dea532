//! A stop as the types handlers answer with.

use ::http::StatusCode;

use super::status;
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
