//! The answer of a stopped request: `application/problem+json` and our headers, or a gRPC status and the same headers.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;

use super::grpc::{self, GRPC_MESSAGE, GRPC_RETRY_PUSHBACK_MS, GRPC_STATUS};
use super::header::{DEADLINE_CAUSE, DEADLINE_DETAIL, REQUEST_ID};
use super::status;
use crate::stop::{Brief, Cause};
use crate::time::Short;

/// What goes into the answer besides the cause.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) request_id: Option<Arc<str>>,
    /// Instead of the cause's status.
    pub(super) status: Option<StatusCode>,
    /// One sentence for people. Public: no operation, no file, nothing the client sent.
    pub(super) text: Option<String>,
    /// For trusted callers.
    pub(super) detail: Option<HeaderValue>,
    pub(super) retry_after: Option<Duration>,
    /// The content type with which a gRPC request is answered.
    pub(super) grpc: Option<HeaderValue>,
}

impl Answer {
    pub(super) fn response(mut self, cause: Cause) -> Response<Bytes> {
        match self.grpc.take() {
            Some(content_type) => {
                // What has no message has its trailers in its head.
                let mut response = Response::new(Bytes::new());
                *response.headers_mut() = self.trailers(cause);
                response.headers_mut().insert(CONTENT_TYPE, content_type);
                response
            }
            None => self.problem(cause),
        }
    }

    /// The end of a gRPC answer.
    pub(super) fn trailers(self, cause: Cause) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let code = grpc::code(cause);
        headers.insert(GRPC_STATUS, HeaderValue::from(code));
        let text = self.text.as_deref().unwrap_or(cause.as_str());
        headers.insert(GRPC_MESSAGE, grpc::percent_encoded(text));
        if matches!(code, 8 | 14)
            && let Some(after) = self.retry_after
        {
            let millis = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
            headers.insert(GRPC_RETRY_PUSHBACK_MS, HeaderValue::from(millis));
        }
        self.ours(cause, &mut headers);
        headers
    }

    fn problem(self, cause: Cause) -> Response<Bytes> {
        let status = self.status.unwrap_or_else(|| status(cause));
        let title = status.canonical_reason().unwrap_or("Client Closed Request");
        let mut json = format!(
            r#"{{"title":"{title}","status":{},"error":"{cause}""#,
            status.as_u16()
        );
        if let Some(text) = &self.text {
            json.push_str(r#","detail":""#);
            escape(text, &mut json);
            json.push('"');
        }
        if let Some(id) = &self.request_id {
            json.push_str(r#","request_id":""#);
            escape(id, &mut json);
            json.push('"');
        }
        json.push('}');

        let mut response = Response::new(Bytes::from(json));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = self.retry_after.map_or(1, |after| {
                after.as_secs() + u64::from(after.subsec_nanos() > 0)
            });
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        self.ours(cause, headers);
        response
    }

    /// The headers that both kinds have.
    fn ours(self, cause: Cause, headers: &mut HeaderMap) {
        headers.insert(DEADLINE_CAUSE, HeaderValue::from_static(cause.as_str()));
        let id = self.request_id.as_deref().map(HeaderValue::from_str);
        if let Some(Ok(id)) = id {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(detail) = self.detail {
            headers.insert(DEADLINE_DETAIL, detail);
        }
    }
}

/// The value of `x-deadline-detail`; `None` if an operation's name cannot stand in a header.
pub(super) fn detail(stop: &Brief) -> Option<HeaderValue> {
    let mut text = format!(
        "op={}; limited_by={}",
        stop.operation,
        stop.limit.operation()
    );
    if let Some(budget) = stop.budget {
        let _ = write!(text, "; limit={}", Short(budget));
    }
    let _ = write!(
        text,
        "; elapsed={}; phase={}",
        Short(stop.elapsed),
        stop.phase
    );
    HeaderValue::from_str(&text).ok()
}

fn escape(text: &str, json: &mut String) {
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                json.push('\\');
                json.push(character);
            }
            control if control.is_control() => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            plain => json.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_break_out_of_the_json() {
        let answer = Answer {
            request_id: Some(Arc::from(r#"a","x":"\"#)),
            ..Answer::default()
        };
        let body = answer.response(Cause::DeadlineExceeded).into_body();
        assert_eq!(
            std::str::from_utf8(&body),
            Ok(
                r#"{"title":"Gateway Timeout","status":504,"error":"deadline_exceeded","request_id":"a\",\"x\":\"\\"}"#
            )
        );
    }

    #[test]
    fn a_retry_is_never_asked_for_in_no_time() {
        for (after, seconds) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2")] {
            let answer = Answer {
                retry_after: Some(Duration::from_millis(after)),
                ..Answer::default()
            };
            let response = answer.response(Cause::Overload);
            assert_eq!(response.headers()[RETRY_AFTER], seconds);
        }
    }
}
