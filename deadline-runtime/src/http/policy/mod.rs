//! [`Policy`]: how a boundary treats the deadlines of its callers.

mod env;

pub use self::env::PolicyError;

use std::time::Duration;

use super::request_id::per_mille;
use crate::context::Mode;

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
    /// unreadable headers refused, callers believed where they shorten, no detail in answers.
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

    /// What `retry-after` says with a 503, rounded up to whole seconds.
    pub const fn retry_after(mut self, retry_after: Duration) -> Self {
        self.retry_after = retry_after;
        self
    }

    pub(super) fn mode_of(&self, request_id: &str) -> Mode {
        match self.canary {
            // The off switch is one: no share of the requests is exempt from it.
            _ if self.mode == Mode::Off => Mode::Off,
            Some((mode, fraction)) if per_mille(request_id) < u64::from(fraction) => mode,
            _ => self.mode,
        }
    }

    /// What a request is granted whose caller asks for `asked`.
    pub(super) fn granted(&self, asked: Option<Duration>) -> Duration {
        let default = self.default.unwrap_or(self.max).min(self.max);
        match (asked, self.trust) {
            (None, _) | (_, Trust::Ignore) => default,
            (Some(asked), Trust::ShortenOnly) => asked.min(default),
            (Some(asked), Trust::Full) => asked.min(self.max),
        }
    }

    pub(super) fn reserve_of(&self, granted: Duration) -> Duration {
        const LEAST: Duration = Duration::from_millis(10);
        const MOST: Duration = Duration::from_millis(100);
        self.reserve
            .unwrap_or_else(|| (granted / 20).clamp(LEAST, MOST).min(granted / 2))
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
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn callers_shorten_and_never_exceed_the_maximum() {
        let policy = Policy::new().max(ms(1_000)).default(ms(400));
        let table = [
            (Trust::Ignore, 100, 400),
            (Trust::Ignore, 9_000, 400),
            (Trust::ShortenOnly, 100, 100),
            (Trust::ShortenOnly, 900, 400),
            (Trust::Full, 100, 100),
            (Trust::Full, 900, 900),
            (Trust::Full, 9_000, 1_000),
            (Trust::Full, 0, 0),
        ];
        for (trust, asked, granted) in table {
            let policy = policy.clone().trust(trust);
            assert_eq!(policy.granted(Some(ms(asked))), ms(granted), "{trust:?}");
            assert_eq!(policy.granted(None), ms(400));
        }
        assert_eq!(Policy::new().max(ms(70)).granted(None), ms(70));
        assert_eq!(policy.default(ms(5_000)).granted(None), ms(1_000));
    }

    #[test]
    fn the_reserve_is_five_percent_within_bounds() {
        let policy = Policy::new();
        let table = [(8, 4), (100, 10), (400, 20), (1_500, 75), (60_000, 100)];
        for (granted, reserve) in table {
            assert_eq!(policy.reserve_of(ms(granted)), ms(reserve));
        }
        assert_eq!(policy.reserve(ms(100)).reserve_of(ms(150)), ms(100));
    }

    #[test]
    fn a_canary_is_chosen_by_the_request() {
        let policy = Policy::new().mode(Mode::Observe).canary(Mode::Enforce, 500);
        let enforced = (0..1_000)
            .filter(|n| policy.mode_of(&format!("id-{n}")) == Mode::Enforce)
            .count();
        assert!((400..600).contains(&enforced), "{enforced}");
        let all = policy.clone().canary(Mode::Enforce, 1_000);
        let none = policy.canary(Mode::Enforce, 0);
        assert_eq!(all.mode_of("id"), Mode::Enforce);
        assert_eq!(none.mode_of("id"), Mode::Observe);
    }
}
