//! The names of the headers that carry a deadline.

use ::http::HeaderName;

/// How many whole milliseconds the caller will wait from now on; digits only.
pub const REQUEST_TIMEOUT_MS: HeaderName = HeaderName::from_static("x-request-timeout-ms");

/// The identity of the request, the same at every hop.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// In an answer: the word of the [`Cause`](crate::Cause) for which the request was stopped.
pub const DEADLINE_CAUSE: HeaderName = HeaderName::from_static("x-deadline-cause");

/// In an answer to a trusted caller: the operation, the limit, the elapsed time and the phase of the stop.
pub const DEADLINE_DETAIL: HeaderName = HeaderName::from_static("x-deadline-detail");
