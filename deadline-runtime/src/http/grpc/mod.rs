//! What is different about gRPC: it carries its deadline in `grpc-timeout`, and its status behind the answer.
//!
//! Nothing here needs tonic; with the feature `tonic` a [`Stopped`](crate::Stopped) becomes a `tonic::Status` and back.
//!
//! | rule | source |
//! |---|---|
//! | an answer without a message is HTTP 200, `content-type: application/grpc`, and the status in its head | gRPC over HTTP/2, "Trailers-Only" |
//! | `grpc-message` is percent-encoded; everything from blank to `~` but `%` stands for itself | the same, "Status-Message" |
//! | our deadline is `DEADLINE_EXCEEDED` (4); `CANCELLED` (1) is said only of a client that left | gRPC status codes |
//! | `grpc-retry-pushback-ms` says when to try again, as `retry-after` does | gRPC, retry design (A6) |
//!
//! A server of tonic's ends a call at its `grpc-timeout` by itself, with `CANCELLED`, and never a stream. A
//! [`DeadlineLayer`](super::DeadlineLayer) in it answers a little earlier, out of the reserve, with 4, and ends streams
//! with trailers. So keep a reserve: with one of zero the two race. The limits of tonic's server builder
//! (`concurrency_limit_per_connection`, `load_shed`) lie outside the layers it is given: a wait there is not counted, so
//! put tower's own limits inside the [`DeadlineLayer`](super::DeadlineLayer) instead.
//!
//! A call that ends early is a reset, and HTTP/2 servers take many resets for an attack: one of tonic's closes a connection, with
//! every call on it, when more than 20 calls of it were reset while it was too busy to look at them. Where callers are
//! in a hurry, or hedge, allow it more: `Server::http2_max_pending_accept_reset_streams`. A channel does the same to itself
//! after 1024 frames that came for calls it had given up: expect `RESOURCE_EXHAUSTED` for the calls under way then.

mod message;
#[cfg(feature = "tonic")]
mod status;

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request};

pub(super) use self::message::percent_encoded;
#[cfg(feature = "tonic")]
pub use self::status::StatusExt;
use crate::stop::Cause;

pub(super) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
pub(super) const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
pub(super) const GRPC_RETRY_PUSHBACK_MS: HeaderName =
    HeaderName::from_static("grpc-retry-pushback-ms");

/// The gRPC status code with which a stop is answered.
///
/// | cause | code |
/// |---|---|
/// | `deadline_exceeded`, `dependency_timeout`, `local_budget_rejected` | 4 `DEADLINE_EXCEEDED` |
/// | `overload` | 8 `RESOURCE_EXHAUSTED` |
/// | `dependency_failed`, `sibling_failed`, `shutdown`, `user_cancelled` | 14 `UNAVAILABLE` |
/// | `client_cancelled`, `abandoned` | 1 `CANCELLED`, which only logs see |
/// | `bad_deadline` | 3 `INVALID_ARGUMENT` |
/// | `superseded`, `parent_failed` | 13 `INTERNAL`: they end work inside a request and are not an answer |
///
/// ```
/// use deadline_runtime::Cause;
/// use deadline_runtime::http::grpc::code;
///
/// assert_eq!(code(Cause::DependencyTimeout), 4);
/// ```
#[must_use]
pub const fn code(cause: Cause) -> u16 {
    match cause {
        Cause::DeadlineExceeded | Cause::DependencyTimeout | Cause::LocalBudgetRejected => 4,
        Cause::Overload => 8,
        Cause::DependencyFailed | Cause::SiblingFailed | Cause::Shutdown | Cause::UserCancelled => {
            14
        }
        Cause::ClientCancelled | Cause::Abandoned => 1,
        Cause::BadDeadline => 3,
        Cause::Superseded | Cause::ParentFailed => 13,
    }
}

/// The content type with which a gRPC request is answered.
#[derive(Debug, Clone)]
pub(super) enum AnsweredAs {
    Plain,
    /// Boxed, because it is seldom and every request has room for it.
    Other(Box<HeaderValue>),
}

impl AnsweredAs {
    pub(super) fn value(&self) -> HeaderValue {
        match self {
            Self::Plain => HeaderValue::from_static("application/grpc"),
            Self::Other(value) => (**value).clone(),
        }
    }
}

/// The content type with which a gRPC request is answered; `None` for any other request.
pub(super) fn asked_by<B>(request: &Request<B>) -> Option<HeaderValue> {
    if request.method() != Method::POST {
        return None;
    }
    answered_as(request.headers().get(CONTENT_TYPE)?).map(|answered| answered.value())
}

/// `application/grpc`, also with a format or a parameter behind it; gRPC-Web keeps its own.
pub(super) fn answered_as(value: &HeaderValue) -> Option<AnsweredAs> {
    const PLAIN: &[u8] = b"application/grpc";
    let start = value.as_bytes().get(..PLAIN.len())?;
    if !start.eq_ignore_ascii_case(PLAIN) {
        return None;
    }
    match value.as_bytes().get(PLAIN.len()) {
        None | Some(b'+' | b';') => Some(AnsweredAs::Plain),
        Some(b'-') => Some(AnsweredAs::Other(Box::new(value.clone()))),
        Some(_) => None,
    }
}

/// The status in the head of an answer or in its trailers.
pub(super) fn status_of(headers: &HeaderMap) -> Option<u16> {
    headers.get(GRPC_STATUS)?.to_str().ok()?.parse().ok()
}

/// Whether a status is what a service says that knows only one way to fail: `UNKNOWN`, `INTERNAL`.
pub(super) const fn is_catch_all(status: u16) -> bool {
    matches!(status, 2 | 13)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_requests_are_known_by_their_content_type() {
        let table = [
            ("application/grpc", Some("application/grpc")),
            ("application/grpc+proto", Some("application/grpc")),
            ("application/grpc;charset=utf-8", Some("application/grpc")),
            ("Application/GRPC", Some("application/grpc")),
            (
                "application/grpc-web+proto",
                Some("application/grpc-web+proto"),
            ),
            ("application/grpcish", None),
            ("application/json", None),
            ("", None),
        ];
        for (given, answered) in table {
            let request = |method| {
                let mut request = Request::new(());
                *request.method_mut() = method;
                let value = HeaderValue::from_static(given);
                request.headers_mut().insert(CONTENT_TYPE, value);
                request
            };
            let value = asked_by(&request(Method::POST));
            assert_eq!(
                value.as_ref().and_then(|value| value.to_str().ok()),
                answered
            );
            assert_eq!(asked_by(&request(Method::GET)), None);
        }
        assert_eq!(asked_by(&Request::new(())), None);
    }
}
