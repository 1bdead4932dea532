//! What the errors of HTTP and gRPC clients say about trying again.

use std::error::Error;

use super::advice::{Advice, Pushback, Retryable};
use crate::http::Unavailable;
#[cfg(any(feature = "reqwest", feature = "tonic"))]
use crate::stop::Sent;
#[cfg(feature = "tonic")]
use crate::stop::{Cause, Stopped};

/// What an error or one of its sources was told about coming back.
pub(super) fn pushback(error: &(dyn Error + 'static)) -> Option<Pushback> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(unavailable) = error.downcast_ref::<Unavailable>() {
            return unavailable.retry_after().map(Pushback::After);
        }
        #[cfg(feature = "tonic")]
        if let Some(status) = error.downcast_ref::<::tonic::Status>()
            && let Some(pushback) = of_metadata(status)
        {
            return Some(pushback);
        }
        next = error.source();
    }
    None
}

/// Worth another attempt, after the time that the answer names.
impl Retryable for Unavailable {
    fn advice(&self) -> Advice {
        match self.retry_after() {
            Some(wait) => Advice::retry().after(wait),
            None => Advice::retry(),
        }
    }
}

/// What did not come about or was torn, and an answer of 429, 502, 503 or 504, are worth another attempt; a request that
/// cannot be built, a body that cannot be read, a redirect that leads nowhere and any other status would be the same again.
///
/// reqwest's error no longer has the headers of the answer; [`Unavailable`] keeps its `Retry-After`.
#[cfg(feature = "reqwest")]
impl Retryable for ::reqwest::Error {
    fn advice(&self) -> Advice {
        let worth = match self.status() {
            Some(status) => Unavailable::of(status, &::http::HeaderMap::new()).is_some(),
            None => !(self.is_builder() || self.is_decode() || self.is_redirect()),
        };
        let advice = if worth {
            Advice::retry()
        } else {
            Advice::give_up()
        };
        advice.sent(Sent::of(self))
    }
}

/// A stop is what [its cause](Stopped) says. Of statuses that a peer has sent these are worth another attempt: `UNAVAILABLE`,
/// `DEADLINE_EXCEEDED`, `CANCELLED` (the calls that a server of tonic's ends by its clock) and, with a pushback,
/// `RESOURCE_EXHAUSTED`. `grpc-retry-pushback-ms` is obeyed; one that cannot be read says not to come back.
#[cfg(feature = "tonic")]
impl Retryable for ::tonic::Status {
    fn advice(&self) -> Advice {
        use ::tonic::Code;

        let pushback = of_metadata(self);
        let word = self.metadata().get("x-deadline-cause");
        let theirs = word.and_then(|word| Cause::from_word(word.to_str().ok()?));
        let worth = match (theirs, self.code()) {
            (Some(Cause::BadDeadline), _) => false,
            (Some(_), _) | (None, Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled) => {
                true
            }
            (None, Code::ResourceExhausted) => pushback.is_some(),
            (None, _) => false,
        };
        let advice = match Stopped::find(self) {
            Some(stopped) => stopped.advice(),
            None if worth => Advice::retry().sent(Sent::of(self)),
            None => Advice::give_up().sent(Sent::of(self)),
        };
        match pushback {
            Some(pushback) => advice.pushback(pushback),
            None => advice,
        }
    }
}

/// A value that cannot be read says not to come back, by gRPC's own rule.
#[cfg(feature = "tonic")]
fn of_metadata(status: &::tonic::Status) -> Option<Pushback> {
    let value = status.metadata().get("grpc-retry-pushback-ms")?;
    let millis = value.to_str().ok().and_then(|text| text.parse().ok());
    Some(millis.map_or(Pushback::Never, Pushback::from_millis))
}
