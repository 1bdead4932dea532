//! [`Head`]: the headers of a request that concern us, found in one walk.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderName, HeaderValue};

use crate::http::codec::Malformed;
use crate::http::grpc::{self, AnsweredAs};
use crate::http::header::{
    CONNECT_TIMEOUT_MS, ENVOY_EXPECTED_TIMEOUT_MS, GRPC_PREVIOUS_ATTEMPTS, GRPC_TIMEOUT,
    REQUEST_ATTEMPT, REQUEST_DEADLINE, REQUEST_TIMEOUT_MS,
};
use crate::http::request_id;

/// One walk compares a few bytes a header. To look each of them up is to hash its name, whether it is there or not.
#[derive(Default)]
pub(super) struct Head<'a> {
    /// The first copy of each.
    first: [Option<&'a HeaderValue>; Name::COUNT],
    /// Of which there are more, a bit each.
    several: u16,
}

/// From [`Relative`](Self::Relative) on they are what a caller says.
#[derive(Clone, Copy)]
pub(super) enum Name {
    Id,
    ContentType,
    Start,
    Relative,
    Absolute,
    Grpc,
    Connect,
    Envoy,
    Attempt,
    PreviousAttempts,
}

impl Name {
    const COUNT: usize = Self::PreviousAttempts as usize + 1;

    fn of(name: &HeaderName) -> Option<Self> {
        Some(match name.as_str() {
            "x-request-id" => Self::Id,
            "content-type" => Self::ContentType,
            "x-request-start" => Self::Start,
            "x-request-timeout-ms" => Self::Relative,
            "x-request-deadline" => Self::Absolute,
            "grpc-timeout" => Self::Grpc,
            "connect-timeout-ms" => Self::Connect,
            "x-envoy-expected-rq-timeout-ms" => Self::Envoy,
            "x-request-attempt" => Self::Attempt,
            "grpc-previous-rpc-attempts" => Self::PreviousAttempts,
            _ => return None,
        })
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl<'a> Head<'a> {
    #[inline]
    pub(super) fn of(headers: &'a HeaderMap) -> Self {
        let mut head = Self::default();
        for (name, value) in headers {
            let Some(name) = Name::of(name) else { continue };
            let place = &mut head.first[name as usize];
            if place.is_some() {
                head.several |= name.bit();
            } else {
                *place = Some(value);
            }
        }
        head
    }

    /// The request's id, if the caller has given one that is fit to be repeated.
    pub(super) fn id(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        self.first(Name::Id)?;
        match self.only(Name::Id) {
            Some(id) => request_id::fit(id),
            None => request_id::taken(headers),
        }
    }

    /// How it is answered, if it is the head of a gRPC request.
    pub(super) fn grpc(&self) -> Option<AnsweredAs> {
        self.first(Name::ContentType).and_then(grpc::answered_as)
    }

    #[inline]
    pub(super) const fn first(&self, name: Name) -> Option<&'a HeaderValue> {
        self.first[name as usize]
    }

    /// The value of a header that is there once.
    #[inline]
    pub(super) const fn only(&self, name: Name) -> Option<&'a HeaderValue> {
        if self.several & name.bit() == 0 {
            self.first(name)
        } else {
            None
        }
    }

    /// Decodes a header: one copy here, several by whoever compares them.
    #[inline]
    pub(super) fn read<T>(
        &self,
        name: Name,
        one: impl FnOnce(&[u8]) -> Result<T, Malformed>,
        several: impl FnOnce() -> Result<Option<T>, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        match (self.first(name), self.only(name)) {
            (None, _) => Ok(None),
            (_, Some(value)) => one(value.as_bytes()).map(Some),
            (_, None) => several(),
        }
    }

    /// Whether a caller says anything about time.
    #[inline]
    pub(super) fn is_of_caller(&self) -> bool {
        self.first[Name::Relative as usize..]
            .iter()
            .any(Option::is_some)
    }
}

/// What a caller that is not trusted has said is not for anybody below.
pub(super) fn forget(headers: &mut HeaderMap) {
    for name in [
        REQUEST_TIMEOUT_MS,
        REQUEST_DEADLINE,
        GRPC_TIMEOUT,
        CONNECT_TIMEOUT_MS,
        ENVOY_EXPECTED_TIMEOUT_MS,
        REQUEST_ATTEMPT,
        GRPC_PREVIOUS_ATTEMPTS,
    ] {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::header::{REQUEST_ID, REQUEST_START};

    /// Those that are found are those that are taken away from strangers, and three that are no promise of time.
    #[test]
    fn every_header_is_found_under_its_name() {
        let mut headers = HeaderMap::new();
        for (at, name) in [
            REQUEST_ID,
            ::http::header::CONTENT_TYPE,
            REQUEST_START,
            REQUEST_TIMEOUT_MS,
            REQUEST_DEADLINE,
            GRPC_TIMEOUT,
            CONNECT_TIMEOUT_MS,
            ENVOY_EXPECTED_TIMEOUT_MS,
            REQUEST_ATTEMPT,
            GRPC_PREVIOUS_ATTEMPTS,
        ]
        .into_iter()
        .enumerate()
        {
            headers.insert(&name, HeaderValue::from(at));
            let head = Head::of(&headers);
            let found: Vec<_> = head.first.iter().flatten().collect();
            assert_eq!(found.len(), at + 1, "{name}");
            assert_eq!(head.first[at], Some(&HeaderValue::from(at)), "{name}");
            assert_eq!(head.is_of_caller(), at >= 3, "{name}");
        }
        forget(&mut headers);
        assert_eq!(headers.len(), 3);
        headers.append(REQUEST_ID, HeaderValue::from_static("b"));
        let head = Head::of(&headers);
        assert_eq!(head.first(Name::Id), Some(&HeaderValue::from(0)));
        assert_eq!(head.only(Name::Id), None);
    }
}
