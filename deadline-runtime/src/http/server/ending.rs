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
/// | gRPC whose caller has set no deadline | the same | trailers |
/// | gRPC whose caller has set one | by then, less the reserve, so that it is our status which arrives | trailers |
/// | every other | by the deadline | an error, which the server turns into a broken connection |
///
/// An error, so that nobody takes a part for the whole. An upgrade (101) has no body: what follows is not HTTP's.
///
/// It has but what its exchange does not know, because it is moved with its answer.
pub(super) struct Ending {
    /// Of a stream.
    idle: Option<Box<Idle>>,
}

/// The limit between two items of a stream.
struct Idle {
    limit: Duration,
    /// When the last item came, or the head.
    last: Deadline,
}

impl Idle {
    fn end(&self) -> Deadline {
        self.last.plus(self.limit)
    }
}

impl Ending {
    /// What holds for an answer with this head.
    pub(super) fn of<B>(exchange: &mut Exchange, response: &Response<B>) -> Self {
        // A gRPC caller sets the deadline of the whole call; the one of the head may be ours and shorter.
        let whole_call =
            (exchange.total.zip(exchange.end())).is_some_and(|(total, end)| total <= end);
        let is_stream = if exchange.is_grpc {
            !whole_call
        } else {
            is_event_stream(response.headers())
        };
        if is_stream {
            exchange.becomes_stream();
        }
        Self {
            idle: is_stream.then(|| {
                Box::new(Idle {
                    limit: exchange.shared.policy.idles(),
                    last: Deadline::now(),
                })
            }),
        }
    }

    pub(super) fn by_trailers(exchange: &Exchange) -> bool {
        exchange.is_grpc
    }

    /// When the answer ends in any case.
    fn at(&self, exchange: &Exchange) -> Option<Deadline> {
        if Self::by_trailers(exchange) && self.idle.is_none() {
            exchange.end_of_work()
        } else {
            exchange.end()
        }
    }

    /// An item came.
    pub(super) fn item(&mut self, exchange: &mut Exchange) {
        let Some(idle) = &mut self.idle else { return };
        let now = Deadline::now();
        let by = now.since(idle.end());
        if !by.is_zero() && !exchange.enforces() {
            exchange.would_fall_silent(idle.limit, by);
        }
        idle.last = now;
    }

    /// Why the answer is over by now, if it is.
    pub(super) fn over(&self, exchange: &mut Exchange) -> Option<Cause> {
        if !exchange.enforces() {
            return None;
        }
        if let Some(cause) = exchange.cancelled() {
            return Some(cause);
        }
        if self.at(exchange).is_some_and(Deadline::is_expired) {
            return Some(Cause::DeadlineExceeded);
        }
        let idle = self.idle.as_ref()?;
        let silent = idle.end().is_expired();
        silent.then(|| exchange.fell_silent(idle.limit))
    }

    /// When to look again.
    pub(super) fn next(&self, exchange: &Exchange) -> Option<Deadline> {
        Deadline::earlier(self.at(exchange), self.idle.as_deref().map(Idle::end))
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    const NAME: &[u8] = b"text/event-stream";
    // An answer has few headers: to look each of them at is quicker than to look one up.
    let Some((_, value)) = headers.iter().find(|(name, _)| *name == CONTENT_TYPE) else {
        return false;
    };
    let value = value.as_bytes();
    // Of what begins with `text/`, hardly anything goes on with an `e`.
    if !matches!(value.get(5), Some(b'e' | b'E')) {
        return false;
    }
    let named = value
        .get(..NAME.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(NAME));
    named && matches!(value.get(NAME.len()), None | Some(b';' | b' '))
}
