//! [`Ending`]: when and how the body of an answer ends that does not end by itself.

use std::time::Duration;

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderMap, Response};

use super::exchange::Exchange;
use crate::stop::Cause;
use crate::time::Deadline;

/// | answer | ends | with |
/// |---|---|---|
/// | `text/event-stream` | after so long without an item, and at the total if there is one | an error |
/// | gRPC without `grpc-timeout` | the same | trailers |
/// | gRPC with `grpc-timeout` | by that deadline, less the reserve, so that it is our status which arrives | trailers |
/// | every other | by the deadline | an error, which the server turns into a broken connection |
///
/// An error, so that nobody takes a part for the whole. An upgrade (101) has no body: what follows is not HTTP's.
pub(super) struct Ending {
    at: Option<Deadline>,
    idle: Option<Duration>,
    /// When the last item came, or the head.
    last: Deadline,
    pub(super) by_trailers: bool,
}

impl Ending {
    /// What holds for an answer with this head.
    pub(super) fn of<B>(exchange: &mut Exchange, response: &Response<B>) -> Self {
        let by_trailers = exchange.terms.grpc.is_some();
        let is_stream = match exchange.terms.grpc {
            Some(_) => !exchange.terms.total,
            None => is_event_stream(response.headers()),
        };
        if is_stream {
            exchange.becomes_stream();
        }
        let at = if by_trailers && !is_stream {
            exchange.end_of_work()
        } else {
            exchange.end()
        };
        Self {
            at,
            idle: is_stream.then(|| exchange.shared.policy.idles()),
            last: Deadline::now(),
            by_trailers,
        }
    }

    /// An item came.
    pub(super) fn item(&mut self) {
        if self.idle.is_some() {
            self.last = Deadline::now();
        }
    }

    /// Why the answer is over by now, if it is.
    pub(super) fn over(&self, exchange: &mut Exchange) -> Option<Cause> {
        if !exchange.enforces() {
            return None;
        }
        if let Some(cause) = exchange.cancelled() {
            return Some(cause);
        }
        if self.at.is_some_and(Deadline::is_expired) {
            return Some(Cause::DeadlineExceeded);
        }
        let idle = self.idle?;
        let silent = self.last.plus(idle).is_expired();
        silent.then(|| exchange.fell_silent(idle))
    }

    /// When to look again.
    pub(super) fn next(&self) -> Option<Deadline> {
        Deadline::earlier(self.at, self.idle.map(|idle| self.last.plus(idle)))
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    const NAME: &[u8] = b"text/event-stream";
    let Some(value) = headers.get(CONTENT_TYPE).map(|value| value.as_bytes()) else {
        return false;
    };
    let named = value
        .get(..NAME.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(NAME));
    named && matches!(value.get(NAME.len()), None | Some(b';' | b' '))
}
