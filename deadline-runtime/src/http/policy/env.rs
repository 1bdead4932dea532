//! A policy from environment variables.

use std::fmt;
use std::time::Duration;

use super::{HeaderSet, Malformed, Policy, Trust};
use crate::context::Mode;
use crate::time::{Short, parse_duration};

const DURATION: &str = "whole numbers with `ms`, `s`, `m` or `h`, as in `450ms` or `1m 30s`";
const MODE: &str = "`off`, `observe`, `propagate` or `enforce`";
const CANARY: &str = "a mode and a share in whole or tenths of a percent, as in `enforce 0.5%`";
const TRUST: &str = "`ignore`, `shorten-only` or `full`";
const MALFORMED: &str = "`reject` or `default`";
const HEADERS: &str = "`none`, or a list of `relative`, `absolute`, `grpc`, `connect`, `envoy`, `request-start` and `attempt`";
const OVERRIDES: &str = "operations with their budgets, as in `load_profile=700ms, dashboard=2s`";
const SWITCH: &str = "`on` or `off`";

/// A variable has a value that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    name: &'static str,
    value: String,
    accepted: &'static str,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}=`{}` is not accepted: it takes {}",
            self.name, self.value, self.accepted
        )
    }
}

impl std::error::Error for PolicyError {}

impl Policy {
    /// The standard policy with what the environment says:
    ///
    /// | variable | as |
    /// |---|---|
    /// | `DEADLINE_MODE` | [`mode`](Self::mode): `off`, `observe`, `propagate`, `enforce` |
    /// | `DEADLINE_CANARY` | [`canary`](Self::canary): `enforce 5%`, `enforce 0.5%` |
    /// | `DEADLINE_MAX`, `DEADLINE_DEFAULT`, `DEADLINE_MIN`, `DEADLINE_RESERVE` | durations: `450ms`, `1m 30s` |
    /// | `DEADLINE_TRUST` | [`trust`](Self::trust): `ignore`, `shorten-only`, `full` |
    /// | `DEADLINE_MALFORMED` | [`malformed`](Self::malformed): `reject`, `default` |
    /// | `DEADLINE_DETAIL` | [`detail`](Self::detail): `on`, `off` |
    /// | `DEADLINE_HEADERS` | [`headers`](Self::headers): `relative, grpc, attempt` and the other names |
    /// | `DEADLINE_STREAM_IDLE`, `DEADLINE_STREAM_TOTAL` | durations |
    /// | `DEADLINE_OVERRIDES` | [`overrides`](Self::overrides): `load_profile=700ms, dashboard=2s` |
    ///
    /// # Errors
    /// [`PolicyError`] for a value that is not understood; it says what is. Nothing is guessed.
    pub fn from_env() -> Result<Self, PolicyError> {
        Self::new().with_env()
    }

    /// This policy where the environment says nothing else; see [`from_env`](Self::from_env).
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn with_env(self) -> Result<Self, PolicyError> {
        // A value that is not Unicode is shown as far as it can be, and refused like any other.
        self.with_vars(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into()))
    }

    /// As [`with_env`](Self::with_env), from any source of named values.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    ///
    /// ```
    /// use deadline_runtime::http::Policy;
    ///
    /// let wrong = Policy::new().with_vars(|name| (name == "DEADLINE_MODE").then(|| "on".to_owned()));
    /// assert_eq!(
    ///     wrong.unwrap_err().to_string(),
    ///     "DEADLINE_MODE=`on` is not accepted: it takes `off`, `observe`, `propagate` or `enforce`"
    /// );
    /// ```
    pub fn with_vars(
        self,
        mut lookup: impl FnMut(&str) -> Option<String>,
    ) -> Result<Self, PolicyError> {
        let mut read = Reader(&mut lookup);
        let mut policy = self;
        if let Some(mode) = read.get("DEADLINE_MODE", MODE, mode)? {
            policy = policy.mode(mode);
        }
        if let Some((mode, share)) = read.get("DEADLINE_CANARY", CANARY, canary)? {
            policy = policy.canary(mode, share);
        }
        if let Some(max) = read.get("DEADLINE_MAX", DURATION, duration)? {
            policy = policy.max(max);
        }
        if let Some(default) = read.get("DEADLINE_DEFAULT", DURATION, duration)? {
            policy = policy.default(default);
        }
        if let Some(min) = read.get("DEADLINE_MIN", DURATION, duration)? {
            policy = policy.min(min);
        }
        if let Some(reserve) = read.get("DEADLINE_RESERVE", DURATION, duration)? {
            policy = policy.reserve(reserve);
        }
        if let Some(trust) = read.get("DEADLINE_TRUST", TRUST, trust)? {
            policy = policy.trust(trust);
        }
        if let Some(malformed) = read.get("DEADLINE_MALFORMED", MALFORMED, malformed)? {
            policy = policy.malformed(malformed);
        }
        if let Some(detail) = read.get("DEADLINE_DETAIL", SWITCH, switch)? {
            policy = policy.detail(detail);
        }
        if let Some(headers) = read.get("DEADLINE_HEADERS", HEADERS, HeaderSet::parse)? {
            policy = policy.headers(headers);
        }
        if let Some(idle) = read.get("DEADLINE_STREAM_IDLE", DURATION, duration)? {
            policy = policy.stream_idle(idle);
        }
        if let Some(total) = read.get("DEADLINE_STREAM_TOTAL", DURATION, duration)? {
            policy = policy.stream_total(total);
        }
        let overrides = |list: &str| list.parse().ok();
        if let Some(overrides) = read.get("DEADLINE_OVERRIDES", OVERRIDES, overrides)? {
            policy = policy.overrides(overrides);
        }
        policy.fits()?;
        Ok(policy)
    }
}

impl Policy {
    /// Whether its figures go together: a minimum above what is ever granted would refuse every request.
    ///
    /// # Errors
    /// [`PolicyError`] naming the minimum.
    pub fn fits(&self) -> Result<(), PolicyError> {
        let (granted, _) = self.granted(None, None);
        if self.least() <= granted.saturating_sub(self.reserve_of(granted)) {
            return Ok(());
        }
        Err(PolicyError {
            name: "min",
            value: Short(self.least()).to_string(),
            accepted: "a minimum of at most the maximum and the default, less the reserve",
        })
    }
}

struct Reader<'a, L>(&'a mut L);

impl<L: FnMut(&str) -> Option<String>> Reader<'_, L> {
    fn get<T>(
        &mut self,
        name: &'static str,
        accepted: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, PolicyError> {
        let Some(value) = (self.0)(name) else {
            return Ok(None);
        };
        match parse(value.trim()) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(PolicyError {
                name,
                value: value.chars().take(64).collect(),
                accepted,
            }),
        }
    }
}

fn mode(text: &str) -> Option<Mode> {
    text.parse().ok()
}

fn duration(text: &str) -> Option<Duration> {
    parse_duration(text).ok()
}

/// `enforce 0.5%`; digits only, so that no sign and no exponent is taken for a number.
fn canary(text: &str) -> Option<(Mode, u16)> {
    let (name, share) = text.split_once(' ')?;
    let share = share.trim_start().strip_suffix('%')?;
    let (whole, tenth) = share.split_once('.').unwrap_or((share, "0"));
    let digits = |text: &str, most: usize| {
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| text.parse::<u16>().ok()).flatten()
    };
    let per_mille = digits(whole, 3)? * 10 + digits(tenth, 1)?;
    (per_mille <= 1_000).then_some((mode(name)?, per_mille))
}

fn trust(text: &str) -> Option<Trust> {
    [
        ("ignore", Trust::Ignore),
        ("shorten-only", Trust::ShortenOnly),
        ("full", Trust::Full),
    ]
    .into_iter()
    .find_map(|(word, trust)| text.eq_ignore_ascii_case(word).then_some(trust))
}

fn malformed(text: &str) -> Option<Malformed> {
    [
        ("reject", Malformed::Reject),
        ("default", Malformed::Default),
    ]
    .into_iter()
    .find_map(|(word, malformed)| text.eq_ignore_ascii_case(word).then_some(malformed))
}

fn switch(text: &str) -> Option<bool> {
    [("on", true), ("off", false)]
        .into_iter()
        .find_map(|(word, on)| text.eq_ignore_ascii_case(word).then_some(on))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Policy, PolicyError> {
        Policy::new().with_vars(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn the_environment_is_read() {
        let mode = with("DEADLINE_MODE", "Observe").map(|policy| policy.mode);
        assert_eq!(mode, Ok(Mode::Observe));
        let canary = with("DEADLINE_CANARY", "enforce 0.5%").map(|policy| policy.canary);
        assert_eq!(canary, Ok(Some((Mode::Enforce, 5))));
        let max = with("DEADLINE_MAX", "1m 30s").map(|policy| policy.max);
        assert_eq!(max, Ok(Duration::from_secs(90)));
        let trust = with("DEADLINE_TRUST", "full").map(|policy| policy.trust);
        assert_eq!(trust, Ok(Trust::Full));
        let malformed = with("DEADLINE_MALFORMED", "default").map(|policy| policy.malformed);
        assert_eq!(malformed, Ok(Malformed::Default));
        let detail = with("DEADLINE_DETAIL", "on").map(|policy| policy.detail);
        assert_eq!(detail, Ok(true));
        let headers = with("DEADLINE_HEADERS", "relative, ABSOLUTE").map(|policy| policy.headers);
        let both = HeaderSet::RELATIVE.with(HeaderSet::ABSOLUTE);
        assert_eq!(headers, Ok(both));
        let headers = with("DEADLINE_HEADERS", "none").map(|policy| policy.headers);
        assert_eq!(headers, Ok(HeaderSet::NONE));
        let idle = with("DEADLINE_STREAM_IDLE", "5s").map(|policy| policy.stream_idle);
        assert_eq!(idle, Ok(Duration::from_secs(5)));
        let total = with("DEADLINE_STREAM_TOTAL", "1h").map(|policy| policy.stream_total);
        assert_eq!(total, Ok(Some(Duration::from_secs(3_600))));
        let overrides = with("DEADLINE_OVERRIDES", "a=5ms").map(|policy| policy.overrides);
        let overridden = overrides.ok().flatten().and_then(|all| all.get("a"));
        assert_eq!(overridden, Some(Duration::from_millis(5)));
    }

    #[test]
    fn a_minimum_that_is_never_granted_is_refused() {
        let vars = |asked: &str| match asked {
            "DEADLINE_MAX" => Some("1s".to_owned()),
            "DEADLINE_MIN" => Some("2s".to_owned()),
            _ => None,
        };
        let error = Policy::new().with_vars(vars).map(|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "min=`2s` is not accepted: it takes a minimum of at most the maximum and the default, less the reserve"
        );
        assert!(with("DEADLINE_MIN", "50ms").is_ok());
    }

    #[test]
    fn off_is_off_whatever_the_canary() {
        let policy = with("DEADLINE_MODE", "off")
            .unwrap()
            .canary(Mode::Enforce, 1_000);
        assert_eq!(policy.mode_of(|| "any"), Mode::Off);
    }

    #[test]
    fn nothing_is_guessed_and_the_error_says_what_is_accepted() {
        let wrong = [
            ("DEADLINE_MODE", "enforced"),
            ("DEADLINE_MODE", ""),
            ("DEADLINE_MAX", "450"),
            ("DEADLINE_DEFAULT", "1e3ms"),
            ("DEADLINE_MIN", "-5ms"),
            ("DEADLINE_RESERVE", "5%"),
            ("DEADLINE_TRUST", "yes"),
            ("DEADLINE_MALFORMED", "ignore"),
            ("DEADLINE_DETAIL", "1"),
            ("DEADLINE_HEADERS", ""),
            ("DEADLINE_HEADERS", "relative,"),
            ("DEADLINE_HEADERS", "x-request-timeout-ms"),
            ("DEADLINE_STREAM_IDLE", "0"),
            ("DEADLINE_OVERRIDES", "a=5"),
            ("DEADLINE_CANARY", "5%"),
            ("DEADLINE_CANARY", "enforce +5%"),
            ("DEADLINE_CANARY", "enforce 100.1%"),
            ("DEADLINE_CANARY", "enforce 5"),
        ];
        for (name, value) in wrong {
            let error = with(name, value).map(|_| ()).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{name}=`{value}` is not accepted: it takes ")),
                "{error}"
            );
        }
    }
}
