//! [`Outgoing`]: what the calling context says about a request that is about to be sent.

use std::panic::Location;
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue};

use crate::context::Context;
use crate::http::codec::{attempt, grpc, relative};
use crate::http::header::{
    GRPC_PREVIOUS_ATTEMPTS, GRPC_TIMEOUT, REQUEST_ATTEMPT, REQUEST_ID, REQUEST_TIMEOUT_MS,
};
use crate::stop::{Brief, Cause, Details, Limit, Phase, Stopped};
use crate::time::Deadline;

/// The context of one outgoing request.
pub(in crate::http) struct Outgoing {
    pub(in crate::http) cx: Context,
    location: &'static Location<'static>,
}

/// A request on its way: where and when it was sent, for a stop that comes back.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct Call {
    operation: &'static str,
    location: &'static Location<'static>,
    at: Deadline,
    given: Option<Duration>,
}

impl Outgoing {
    /// Captures the ambient context: the deadline of a call belongs to whoever makes it, not to whoever polls it.
    #[track_caller]
    pub(in crate::http) fn here() -> Self {
        Self {
            cx: Context::current(),
            location: Location::caller(),
        }
    }

    /// The call as if it were sent now, for an answer whose sending was not seen.
    pub(in crate::http) fn received(&self) -> Call {
        self.sent(Deadline::now(), self.cx.remaining())
    }

    /// Whether there is still time to send anything when opening a connection takes `connect` of it.
    ///
    /// # Errors
    /// The stop of the context, or its refusal because less than a millisecond is left.
    pub(in crate::http) fn admit(&self, connect: Duration) -> Result<Call, Stopped> {
        if let Err(stopped) = self.cx.check() {
            return Err(stopped.in_phase(Phase::Start));
        }
        let left = self.cx.remaining();
        let given = left.map(|left| left.saturating_sub(connect));
        let too_little = given.is_some_and(|left| relative::encode(left).is_none());
        if too_little && self.cx.mode().enforces() {
            let cause = if left == given {
                Cause::DeadlineExceeded
            } else {
                Cause::LocalBudgetRejected
            };
            let call = self.sent(Deadline::now(), left);
            return Err(call.stop(cause, Phase::Start));
        }
        Ok(self.sent(Deadline::now(), given))
    }

    /// Writes what an internal service is told, over whatever the caller wrote.
    pub(in crate::http) fn write(&self, call: &Call, headers: &mut HeaderMap) {
        if self.cx.is_none() || !self.cx.mode().propagates() {
            return;
        }
        // Where nothing is enforced the time may be over: say that, rather than nothing, which is no limit at all.
        if let Some(left) = call.given {
            let value = relative::encode(left).unwrap_or_else(|| HeaderValue::from_static("1"));
            headers.insert(REQUEST_TIMEOUT_MS, value);
        }
        self.write_identity(headers);
    }

    /// The same for a gRPC call, whose own option may be the shorter one.
    pub(in crate::http) fn write_grpc(&self, call: &Call, headers: &mut HeaderMap) {
        if self.cx.is_none() || !self.cx.mode().propagates() {
            return;
        }
        if let Some(left) = call.given {
            let option = grpc::from_headers(headers).unwrap_or(None);
            let left = option.map_or(left, |option| option.min(left));
            let value = grpc::encode(left).and_then(|value| HeaderValue::try_from(value).ok());
            headers.insert(
                GRPC_TIMEOUT,
                value.unwrap_or_else(|| HeaderValue::from_static("1n")),
            );
            headers.remove(REQUEST_TIMEOUT_MS);
        }
        match self.cx.attempt().map(|attempt| attempt.get() - 1) {
            None => {}
            // Absent on the first, says the specification.
            Some(0) => {
                headers.remove(GRPC_PREVIOUS_ATTEMPTS);
            }
            Some(previous) => {
                headers.insert(
                    GRPC_PREVIOUS_ATTEMPTS,
                    HeaderValue::from(previous.min(9_999)),
                );
            }
        }
        self.write_identity(headers);
    }

    fn write_identity(&self, headers: &mut HeaderMap) {
        let id = self.cx.request_id();
        if let Some(Ok(id)) = id.as_deref().map(HeaderValue::from_str) {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(attempt) = self.cx.attempt() {
            headers.insert(REQUEST_ATTEMPT, attempt::encode(attempt));
        }
    }

    fn sent(&self, at: Deadline, given: Option<Duration>) -> Call {
        Call {
            operation: self.cx.node().map_or("request", |node| node.operation.name),
            location: self.location,
            at,
            given,
        }
    }
}

impl Call {
    #[cfg(feature = "reqwest")]
    pub(in crate::http) const fn operation(&self) -> &'static str {
        self.operation
    }

    /// A stop of this very call.
    pub(in crate::http) fn stop(&self, cause: Cause, phase: Phase) -> Stopped {
        let limit = Limit {
            operation: self.operation,
            location: self.location,
        };
        let stop = Brief {
            cause,
            phase,
            operation: self.operation,
            limit,
            deadline: None,
            budget: self.given,
            elapsed: Deadline::now().since(self.at),
        };
        Stopped::new(Details::of(stop))
    }
}
