//! [`Policy`]: how a boundary treats the deadlines of its callers.

mod env;
mod granted;
mod headers;

pub use self::env::PolicyError;
pub(super) use self::granted::{Said, Source};
pub use self::headers::HeaderSet;

use std::time::Duration;

use super::codec::absolute::GUARD;
use super::request_id::per_mille;
use crate::context::{Mode, Overrides};
use crate::time::WallClock;

/// How a boundary treats the deadlines of its callers.
///
/// Plain data: made once, cloned into a [`DeadlineLayer`](super::DeadlineLayer).
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::Mode;
/// use deadline_runtime::http::{Policy, Trust};
///
/// let policy = Policy::new()
///     .max(Duration::from_secs(10))
///     .default(Duration::from_millis(1_500))
///     .min(Duration::from_millis(50))
///     .trust(Trust::Full)
///     // Look first, and enforce for five requests of a thousand.
///     .mode(Mode::Observe)
///     .canary(Mode::Enforce, 5);
/// # let _ = policy;
/// ```
#[derive(Debug, Clone)]
#[must_use = "a policy does nothing before it is given to a layer"]
pub struct Policy {
    max: Duration,
    default: Option<Duration>,
    min: Duration,
    reserve: Option<Duration>,
    mode: Mode,
    canary: Option<(Mode, u16)>,
    malformed: Malformed,
    trust: Trust,
    detail: bool,
    report: bool,
    retry_after: Duration,
    headers: HeaderSet,
    clock: WallClock,
    skew: Duration,
    overrides: Option<Overrides>,
    stream_idle: Duration,
    stream_total: Option<Duration>,
}

/// What happens to a request whose timeout header cannot be read. It is never run without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Malformed {
    /// It is answered 400 with the cause `bad_deadline`, and the handler is not entered.
    #[default]
    Reject,
    /// It gets the default budget.
    Default,
}

/// How far the caller's timeout is believed. Never beyond [`Policy::max`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Trust {
    /// Not at all, as at a public edge: the header is dropped and the default counts.
    Ignore,
    /// It can make the default shorter, never longer.
    #[default]
    ShortenOnly,
    /// It counts up to the maximum.
    Full,
}

impl Policy {
    /// At most 30 s, the maximum as default, no minimum, a reserve of 5 % between 10 ms and 100 ms, everything enforced,
    /// unreadable headers refused, callers believed where they shorten, no detail in answers, streams ended after 30 s
    /// without an item.
    pub const fn new() -> Self {
        Self {
            max: Duration::from_secs(30),
            default: None,
            min: Duration::ZERO,
            reserve: None,
            mode: Mode::Enforce,
            canary: None,
            malformed: Malformed::Reject,
            trust: Trust::ShortenOnly,
            detail: false,
            report: true,
            retry_after: Duration::from_secs(1),
            headers: HeaderSet::STANDARD,
            clock: WallClock::system(),
            skew: GUARD,
            overrides: None,
            stream_idle: Duration::from_secs(30),
            stream_total: None,
        }
    }

    /// The most a request may take, whoever asks.
    pub const fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// What a request may take whose caller says nothing; not more than the maximum. Without it the maximum is the
    /// default.
    pub const fn default(mut self, default: Duration) -> Self {
        self.default = Some(default);
        self
    }

    /// What a useful run needs, the reserve not counted: with less left the request is answered 504 with the cause
    /// `local_budget_rejected` and the handler is not entered. Equality runs.
    pub const fn min(mut self, min: Duration) -> Self {
        self.min = min;
        self
    }

    /// What is kept of every request for building and sending the answer, instead of 5 % between 10 ms and 100 ms and
    /// never more than half.
    pub const fn reserve(mut self, reserve: Duration) -> Self {
        self.reserve = Some(reserve);
        self
    }

    /// How much is enforced.
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Another mode for `per_mille` of a thousand requests, chosen by the request id, so that every hop which has the
    /// same setting makes the same choice.
    pub const fn canary(mut self, mode: Mode, per_mille: u16) -> Self {
        self.canary = Some((mode, per_mille));
        self
    }

    /// What happens to a request whose timeout header cannot be read.
    pub const fn malformed(mut self, malformed: Malformed) -> Self {
        self.malformed = malformed;
        self
    }

    /// How far the caller's timeout is believed.
    pub const fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Whether answers carry `x-deadline-detail`: operation, limit, elapsed time and phase of the stop. For internal
    /// callers only; it shows how the service is built.
    pub const fn detail(mut self, detail: bool) -> Self {
        self.detail = detail;
        self
    }

    /// Whether the scopes of each request are written down for [`Context::report`](crate::Context::report).
    pub const fn report(mut self, report: bool) -> Self {
        self.report = report;
        self
    }

    /// Which headers are read.
    pub const fn headers(mut self, headers: HeaderSet) -> Self {
        self.headers = headers;
        self
    }

    /// The clock that dates in headers are compared with.
    pub fn wall_clock(mut self, clock: WallClock) -> Self {
        self.clock = clock;
        self
    }

    /// How far another machine's clock and ours may be apart, instead of 60 s: a date further off is not believed, and
    /// `clock_skew_suspected` is recorded.
    pub const fn clock_skew(mut self, skew: Duration) -> Self {
        self.skew = skew;
        self
    }

    /// Budgets by operation name, looked at when each request begins. The layer's own name is one: there the override
    /// is the default.
    pub fn overrides(mut self, overrides: Overrides) -> Self {
        self.overrides = Some(overrides);
        self
    }

    /// How long a stream may be without an item. Streams (`text/event-stream`, gRPC answers whose caller has set no
    /// deadline for the whole call) have their own rule: the deadline bounds the head, then each item comes within this time.
    pub const fn stream_idle(mut self, idle: Duration) -> Self {
        self.stream_idle = idle;
        self
    }

    /// How long a stream may last in all, from its head on. Without it only the gap between two items is bounded.
    pub const fn stream_total(mut self, total: Duration) -> Self {
        self.stream_total = Some(total);
        self
    }

    /// What `retry-after` says with a 503, rounded up to whole seconds.
    pub const fn retry_after(mut self, retry_after: Duration) -> Self {
        self.retry_after = retry_after;
        self
    }

    pub(super) fn mode_of<I: AsRef<str>>(&self, request_id: impl FnOnce() -> I) -> Mode {
        match self.canary {
            // The off switch is one: no share of the requests is exempt from it.
            _ if self.mode == Mode::Off => Mode::Off,
            Some((mode, fraction)) if per_mille(request_id().as_ref()) < u64::from(fraction) => {
                mode
            }
            _ => self.mode,
        }
    }

    pub(super) const fn least(&self) -> Duration {
        self.min
    }

    pub(super) const fn on_malformed(&self) -> Malformed {
        self.malformed
    }

    pub(super) const fn trusts(&self) -> Trust {
        self.trust
    }

    pub(super) const fn shows_detail(&self) -> bool {
        self.detail
    }

    pub(super) const fn reports(&self) -> bool {
        self.report
    }

    pub(super) const fn retries_after(&self) -> Duration {
        self.retry_after
    }

    pub(super) const fn reads(&self) -> HeaderSet {
        self.headers
    }

    pub(super) const fn most(&self) -> Duration {
        self.max
    }

    pub(super) const fn clock(&self) -> &WallClock {
        &self.clock
    }

    pub(super) const fn skew(&self) -> Duration {
        self.skew
    }

    pub(super) const fn overriding(&self) -> Option<&Overrides> {
        self.overrides.as_ref()
    }

    pub(super) const fn idles(&self) -> Duration {
        self.stream_idle
    }

    pub(super) const fn lasts(&self) -> Option<Duration> {
        self.stream_total
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_chosen_by_the_request() {
        let policy = Policy::new().mode(Mode::Observe).canary(Mode::Enforce, 500);
        let enforced = (0..1_000)
            .filter(|n| policy.mode_of(|| format!("id-{n}")) == Mode::Enforce)
            .count();
        assert!((400..600).contains(&enforced), "{enforced}");
        let all = policy.clone().canary(Mode::Enforce, 1_000);
        let none = policy.canary(Mode::Enforce, 0);
        assert_eq!(all.mode_of(|| "id"), Mode::Enforce);
        assert_eq!(none.mode_of(|| "id"), Mode::Observe);
    }
}
