//! What the head of a request says about time.

use std::num::NonZeroU32;
use std::time::Duration;

use ::http::HeaderMap;

use super::head::{Head, Name};
use crate::http::codec::{self, absolute, attempt, connect, envoy, grpc, relative, request_start};
use crate::http::policy::{HeaderSet, Policy, Said, Trust};

/// What was read, or why it cannot be.
#[derive(Default)]
pub(super) struct Asked {
    /// How long the caller waits, and the header that says so.
    pub(super) time: Option<(Duration, Said)>,
    /// One of the headers that say so is unreadable.
    pub(super) malformed: Option<codec::Malformed>,
    /// How long it has waited before us.
    pub(super) queued: Duration,
    pub(super) attempt: Option<NonZeroU32>,
    /// The header by which another machine's clock and ours disagree.
    pub(super) skewed: Option<&'static str>,
}

const START: &str = "x-request-start";

impl Asked {
    #[inline]
    pub(super) fn of(policy: &Policy, head: &Head<'_>, headers: &HeaderMap, is_grpc: bool) -> Self {
        let mut asked = Self::default();
        if policy.trusts() != Trust::Ignore && head.is_of_caller() {
            if let Err(malformed) = asked.read_time(policy, head, headers, is_grpc) {
                asked.time = None;
                asked.malformed = Some(malformed);
            }
            if policy.reads().has(HeaderSet::ATTEMPT) {
                // No deadline, so nothing to refuse a request for.
                asked.attempt = attempt_of(head, headers, is_grpc).unwrap_or(None);
            }
        }
        // Written by the proxy in front, not by the caller.
        asked.read_start(policy, head, headers);
        asked
    }

    fn read_time(
        &mut self,
        policy: &Policy,
        head: &Head<'_>,
        headers: &HeaderMap,
        is_grpc: bool,
    ) -> Result<(), codec::Malformed> {
        let reads = policy.reads();
        if reads.has(HeaderSet::RELATIVE) {
            let all = || relative::from_headers(headers);
            let time = head.read(Name::Relative, relative::decode, all)?;
            self.shorten(time, Said::Relative);
        }
        if is_grpc && reads.has(HeaderSet::GRPC) {
            let all = || grpc::from_headers(headers);
            let time = head.read(Name::Grpc, grpc::decode, all)?;
            self.shorten(time, Said::Grpc);
        }
        if reads.has(HeaderSet::CONNECT) {
            let all = || connect::from_headers(headers);
            let time = head.read(Name::Connect, connect::decode, all)?;
            self.shorten(time, Said::Connect);
        }
        if reads.has(HeaderSet::ENVOY) {
            let all = || envoy::from_headers(headers);
            let time = head.read(Name::Envoy, envoy::decode, all)?;
            self.shorten(time, Said::Envoy);
        }
        let all = || absolute::from_headers(headers);
        if reads.has(HeaderSet::ABSOLUTE)
            && let Some(at) = head.read(Name::Absolute, absolute::decode, all)?
        {
            self.read_date(policy, at);
        }
        Ok(())
    }

    #[inline]
    fn shorten(&mut self, time: Option<Duration>, said: Said) {
        if let Some(time) = time
            && self.time.is_none_or(|(shortest, _)| time < shortest)
        {
            self.time = Some((time, said));
        }
    }

    fn read_date(&mut self, policy: &Policy, at: Duration) {
        let left = absolute::left(
            at,
            policy.clock().since_epoch(),
            policy.most(),
            policy.skew(),
        );
        match (left, self.time) {
            (None, _) => self.skewed = Some(Said::Absolute.header()),
            (Some(left), None) => self.time = Some((left, Said::Absolute)),
            // The relative one counts, and tells how far the clocks are apart.
            (Some(left), Some((time, _))) => {
                let apart = left.abs_diff(time.min(policy.most()));
                self.skewed = (apart > policy.skew()).then_some(Said::Absolute.header());
            }
        }
    }

    /// It can only shorten, so one that cannot be read or believed is as good as none.
    fn read_start(&mut self, policy: &Policy, head: &Head<'_>, headers: &HeaderMap) {
        if head.first(Name::Start).is_some()
            && policy.reads().has(HeaderSet::REQUEST_START)
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
        if matches!(self.time, Some((_, Said::Absolute))) {
            self.time = None;
            self.skewed = Some(Said::Absolute.header());
        }
    }
}

fn attempt_of(
    head: &Head<'_>,
    headers: &HeaderMap,
    is_grpc: bool,
) -> Result<Option<NonZeroU32>, codec::Malformed> {
    let all = || attempt::from_headers(headers, is_grpc);
    if is_grpc && head.first(Name::PreviousAttempts).is_some() {
        return all();
    }
    head.read(Name::Attempt, attempt::decode, all)
}
