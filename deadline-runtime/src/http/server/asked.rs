//! What the head of a request says about time.

use std::num::NonZeroU32;
use std::time::Duration;

use ::http::HeaderMap;

use crate::http::codec::{self, absolute, attempt, connect, envoy, grpc, relative, request_start};
use crate::http::header::{
    CONNECT_TIMEOUT_MS, ENVOY_EXPECTED_TIMEOUT_MS, GRPC_PREVIOUS_ATTEMPTS, GRPC_TIMEOUT,
    REQUEST_ATTEMPT, REQUEST_DEADLINE, REQUEST_TIMEOUT_MS,
};
use crate::http::policy::{HeaderSet, Policy, Trust};

/// What was read, or why it cannot be.
#[derive(Default)]
pub(super) struct Asked {
    /// How long the caller waits, and the header that says so.
    pub(super) time: Option<(Duration, &'static str)>,
    /// One of the headers that say so is unreadable.
    pub(super) malformed: Option<codec::Malformed>,
    /// How long it has waited before us.
    pub(super) queued: Duration,
    pub(super) attempt: Option<NonZeroU32>,
    /// The header by which another machine's clock and ours disagree.
    pub(super) skewed: Option<&'static str>,
}

pub(super) const ABSOLUTE: &str = "x-request-deadline";
const START: &str = "x-request-start";

impl Asked {
    pub(super) fn of(policy: &Policy, headers: &HeaderMap, is_grpc: bool) -> Self {
        let mut asked = Self::default();
        if policy.trusts() == Trust::Ignore {
            // Written by the proxy in front, not by the caller.
            asked.read_start(policy, headers);
            return asked;
        }
        if let Err(malformed) = asked.read_time(policy, headers, is_grpc) {
            asked.time = None;
            asked.malformed = Some(malformed);
        }
        asked.read_start(policy, headers);
        if policy.reads().has(HeaderSet::ATTEMPT) {
            // No deadline, so nothing to refuse a request for.
            asked.attempt = attempt::from_headers(headers, is_grpc).unwrap_or(None);
        }
        asked
    }

    fn read_time(
        &mut self,
        policy: &Policy,
        headers: &HeaderMap,
        is_grpc: bool,
    ) -> Result<(), codec::Malformed> {
        type Read = fn(&HeaderMap) -> Result<Option<Duration>, codec::Malformed>;
        let kinds: [(HeaderSet, bool, &str, Read); 4] = [
            (
                HeaderSet::RELATIVE,
                true,
                "x-request-timeout-ms",
                relative::from_headers,
            ),
            (HeaderSet::GRPC, is_grpc, "grpc-timeout", grpc::from_headers),
            (
                HeaderSet::CONNECT,
                true,
                "connect-timeout-ms",
                connect::from_headers,
            ),
            (
                HeaderSet::ENVOY,
                true,
                "x-envoy-expected-rq-timeout-ms",
                envoy::from_headers,
            ),
        ];
        for (kind, applies, name, read) in kinds {
            if applies
                && policy.reads().has(kind)
                && let Some(time) = read(headers)?
                && self.time.is_none_or(|(shortest, _)| time < shortest)
            {
                self.time = Some((time, name));
            }
        }
        if policy.reads().has(HeaderSet::ABSOLUTE)
            && let Some(at) = absolute::from_headers(headers)?
        {
            let left = absolute::left(
                at,
                policy.clock().since_epoch(),
                policy.most(),
                policy.skew(),
            );
            match (left, self.time) {
                (None, _) => self.skewed = Some(ABSOLUTE),
                (Some(left), None) => self.time = Some((left, ABSOLUTE)),
                // The relative one counts, and tells how far the clocks are apart.
                (Some(left), Some((time, _))) => {
                    let apart = left.abs_diff(time.min(policy.most()));
                    self.skewed = (apart > policy.skew()).then_some(ABSOLUTE);
                }
            }
        }
        Ok(())
    }

    /// It can only shorten, so one that cannot be read or believed is as good as none.
    fn read_start(&mut self, policy: &Policy, headers: &HeaderMap) {
        if policy.reads().has(HeaderSet::REQUEST_START)
            && let Ok(Some(at)) = request_start::from_headers(headers)
        {
            match request_start::queued(at, policy.clock().since_epoch(), policy.skew()) {
                Some(queued) => self.queued = queued,
                None => self.skewed = Some(START),
            }
        }
    }

    /// A date that leaves too little to begin is not the reason to refuse: a clock that is a little off says the same.
    pub(super) fn disbelieve(&mut self) {
        if matches!(self.time, Some((_, ABSOLUTE))) {
            self.time = None;
            self.skewed = Some(ABSOLUTE);
        }
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
