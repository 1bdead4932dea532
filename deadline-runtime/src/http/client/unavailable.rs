//! [`Unavailable`]: an answer that says "not now".

use std::error::Error;
use std::fmt;
use std::time::Duration;

use ::http::{HeaderMap, StatusCode};

use super::outgoing::Outgoing;
use crate::http::codec::retry_after;
use crate::stop::{Cause, Phase, Stopped};
use crate::time::Short;

/// An answer that says that the same request may succeed later, as an error; see
/// [`ResponseExt::error_for_unavailable`](super::ResponseExt::error_for_unavailable).
///
/// | status | |
/// |---|---|
/// | 429 Too Many Requests, 503 Service Unavailable | too much at this moment; `Retry-After` says when to come back |
/// | 502 Bad Gateway, 504 Gateway Timeout | somebody in between had no answer |
///
/// With the feature `retry` it says so to a retry, and its wait replaces the backoff. It does not prove that nothing has
/// happened: see [`Sent`](crate::Sent).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    status: StatusCode,
    retry_after: Option<Duration>,
}

impl Unavailable {
    /// What an answer's head says; `None` for every other status.
    #[must_use]
    pub fn of(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let later = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        later.then(|| Self {
            status,
            retry_after: retry_after::of(headers),
        })
    }

    /// The status of the answer.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// When to ask again, from when the answer was read; `None` if it does not say.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// `answered 503 Service Unavailable, retry after 2s`
impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "answered {}", self.status)?;
        match self.retry_after {
            Some(after) => write!(f, ", retry after {}", Short(after)),
            None => Ok(()),
        }
    }
}

impl Error for Unavailable {}

impl From<Unavailable> for Stopped {
    /// `dependency_failed`, for functions whose only error is a stop; the answer is the
    /// [`source`](std::error::Error::source).
    #[track_caller]
    fn from(unavailable: Unavailable) -> Self {
        let received = Outgoing::here().received();
        received
            .stop(Cause::DependencyFailed, Phase::Response)
            .with_source(unavailable)
    }
}
