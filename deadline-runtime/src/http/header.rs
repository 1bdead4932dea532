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

/// When the caller stops waiting, in milliseconds since the Unix epoch.
pub const REQUEST_DEADLINE: HeaderName = HeaderName::from_static("x-request-deadline");

/// How long a gRPC caller will wait from now on: up to eight digits and a unit.
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// How many attempts of this gRPC call came before this one.
pub const GRPC_PREVIOUS_ATTEMPTS: HeaderName =
    HeaderName::from_static("grpc-previous-rpc-attempts");

/// How long a caller by the Connect protocol will wait from now on, in milliseconds.
pub const CONNECT_TIMEOUT_MS: HeaderName = HeaderName::from_static("connect-timeout-ms");

/// How long Envoy will wait for the answer, in milliseconds.
pub const ENVOY_EXPECTED_TIMEOUT_MS: HeaderName =
    HeaderName::from_static("x-envoy-expected-rq-timeout-ms");

/// When the proxy in front took the request.
pub const REQUEST_START: HeaderName = HeaderName::from_static("x-request-start");

/// The number of this attempt, from 1 on: somebody above repeats the call when it fails, so nobody below does.
pub const REQUEST_ATTEMPT: HeaderName = HeaderName::from_static("x-request-attempt");
