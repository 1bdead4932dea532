//! How much a request is granted, and by which of the limits.

use std::time::Duration;

use super::{Policy, Trust};
use crate::time::nanos;

/// By which header a caller says how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Said {
    Relative,
    Grpc,
    Connect,
    Envoy,
    Absolute,
}

impl Said {
    pub(in crate::http) const fn header(self) -> &'static str {
        match self {
            Self::Relative => "x-request-timeout-ms",
            Self::Grpc => "grpc-timeout",
            Self::Connect => "connect-timeout-ms",
            Self::Envoy => "x-envoy-expected-rq-timeout-ms",
            Self::Absolute => "x-request-deadline",
        }
    }
}

/// Which limit won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Source {
    /// What the caller said, in this header.
    Header(Said),
    Default,
    Max,
    /// A layer further out.
    Outer,
    /// The overrides of the moment.
    Override,
}

impl Source {
    pub(in crate::http) const fn as_str(self) -> &'static str {
        match self {
            Self::Header(said) => said.header(),
            Self::Default => "default",
            Self::Max => "max",
            Self::Outer => "outer",
            Self::Override => "override",
        }
    }
}

impl Policy {
    /// What a request is granted whose caller asks for `asked` in some header.
    pub(in crate::http) fn granted(
        &self,
        asked: Option<(Duration, Said)>,
        overriding: Option<Duration>,
    ) -> (Duration, Source) {
        let most = (self.max, Source::Max);
        let of_ours = overriding
            .map(|overriding| (overriding, Source::Override))
            .or_else(|| Some((self.default?, Source::Default)))
            .filter(|(time, _)| *time <= self.max)
            .unwrap_or(most);
        let asked = asked.map(|(time, header)| (time, Source::Header(header)));
        // On a tie the caller's limit is named: it is the ancestor.
        let within = |asked: (Duration, Source), ours: (Duration, Source)| {
            if asked.0 <= ours.0 { asked } else { ours }
        };
        match (asked, self.trust) {
            (None, _) | (_, Trust::Ignore) => of_ours,
            (Some(asked), Trust::ShortenOnly) => within(asked, of_ours),
            (Some(asked), Trust::Full) => within(asked, most),
        }
    }

    pub(in crate::http) fn reserve_of(&self, granted: Duration) -> Duration {
        const LEAST: u64 = 10_000_000;
        const MOST: u64 = 100_000_000;
        self.reserve.unwrap_or_else(|| {
            let granted = nanos(granted);
            Duration::from_nanos((granted / 20).clamp(LEAST, MOST).min(granted / 2))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: &str = Said::Connect.header();

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn callers_shorten_and_never_exceed_the_maximum() {
        let policy = Policy::new().max(ms(1_000)).default(ms(400));
        let table = [
            (Trust::Ignore, 100, 400, "default"),
            (Trust::Ignore, 9_000, 400, "default"),
            (Trust::ShortenOnly, 100, 100, H),
            (Trust::ShortenOnly, 400, 400, H),
            (Trust::ShortenOnly, 900, 400, "default"),
            (Trust::Full, 100, 100, H),
            (Trust::Full, 900, 900, H),
            (Trust::Full, 9_000, 1_000, "max"),
            (Trust::Full, 0, 0, H),
        ];
        let of = |policy: &Policy, asked| {
            let (time, source) = policy.granted(asked, None);
            (time, source.as_str())
        };
        for (trust, asked, granted, source) in table {
            let policy = policy.clone().trust(trust);
            let asked = Some((ms(asked), Said::Connect));
            assert_eq!(of(&policy, asked), (ms(granted), source), "{trust:?}");
            assert_eq!(of(&policy, None), (ms(400), "default"));
        }
        assert_eq!(of(&Policy::new().max(ms(70)), None), (ms(70), "max"));
        assert_eq!(of(&policy.default(ms(5_000)), None), (ms(1_000), "max"));
    }

    #[test]
    fn an_override_is_the_default_and_never_more_than_the_maximum() {
        let policy = Policy::new().max(ms(1_000)).default(ms(400));
        let of = |asked, overriding| {
            let (time, source) = policy.granted(asked, Some(ms(overriding)));
            (time, source.as_str())
        };
        assert_eq!(of(None, 700), (ms(700), "override"));
        assert_eq!(of(None, 7_000), (ms(1_000), "max"));
        assert_eq!(of(Some((ms(600), Said::Connect)), 700), (ms(600), H));
        assert_eq!(
            of(Some((ms(800), Said::Connect)), 700),
            (ms(700), "override")
        );
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
}
