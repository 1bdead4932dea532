//! [`HeaderSet`]: which headers a boundary reads.

/// Which headers a boundary reads. One that is not read is not looked at: it can neither shorten nor refuse a request.
///
/// | | header | in the standard set |
/// |---|---|---|
/// | [`RELATIVE`](Self::RELATIVE) | `x-request-timeout-ms` | yes |
/// | [`GRPC`](Self::GRPC) | `grpc-timeout`, on gRPC requests only | yes |
/// | [`ATTEMPT`](Self::ATTEMPT) | `x-request-attempt`, `grpc-previous-rpc-attempts` | yes |
/// | [`ABSOLUTE`](Self::ABSOLUTE) | `x-request-deadline` | no: two clocks are compared |
/// | [`CONNECT`](Self::CONNECT) | `connect-timeout-ms` | no |
/// | [`ENVOY`](Self::ENVOY) | `x-envoy-expected-rq-timeout-ms` | no: only behind an Envoy that removes its clients' |
/// | [`REQUEST_START`](Self::REQUEST_START) | `x-request-start` | no: only behind a proxy that writes it |
///
/// Of several that say how long to wait, the shortest counts. The absolute one never shortens a relative one; it counts
/// where it is alone.
///
/// ```
/// use deadline_runtime::http::HeaderSet;
///
/// let behind_envoy = HeaderSet::STANDARD.with(HeaderSet::ENVOY).with(HeaderSet::REQUEST_START);
/// assert!(behind_envoy.has(HeaderSet::ENVOY));
/// assert!(!behind_envoy.has(HeaderSet::ABSOLUTE));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderSet(u8);

impl HeaderSet {
    /// None at all.
    pub const NONE: Self = Self(0);
    /// `x-request-timeout-ms`.
    pub const RELATIVE: Self = Self(1);
    /// `x-request-deadline`.
    pub const ABSOLUTE: Self = Self(1 << 1);
    /// `grpc-timeout`.
    pub const GRPC: Self = Self(1 << 2);
    /// `connect-timeout-ms`.
    pub const CONNECT: Self = Self(1 << 3);
    /// `x-envoy-expected-rq-timeout-ms`.
    pub const ENVOY: Self = Self(1 << 4);
    /// `x-request-start`.
    pub const REQUEST_START: Self = Self(1 << 5);
    /// `x-request-attempt` and `grpc-previous-rpc-attempts`.
    pub const ATTEMPT: Self = Self(1 << 6);
    /// What is read unless said otherwise.
    pub const STANDARD: Self = Self::RELATIVE.with(Self::GRPC).with(Self::ATTEMPT);

    const WORDS: [(&'static str, Self); 8] = [
        ("none", Self::NONE),
        ("relative", Self::RELATIVE),
        ("absolute", Self::ABSOLUTE),
        ("grpc", Self::GRPC),
        ("connect", Self::CONNECT),
        ("envoy", Self::ENVOY),
        ("request-start", Self::REQUEST_START),
        ("attempt", Self::ATTEMPT),
    ];

    /// These and those.
    #[must_use]
    pub const fn with(self, those: Self) -> Self {
        Self(self.0 | those.0)
    }

    /// These, but not those.
    #[must_use]
    pub const fn without(self, those: Self) -> Self {
        Self(self.0 & !those.0)
    }

    /// Whether all of those are in it.
    #[must_use]
    pub const fn has(self, those: Self) -> bool {
        self.0 & those.0 == those.0
    }

    /// `relative, absolute`, as the environment has it.
    pub(super) fn parse(list: &str) -> Option<Self> {
        list.split(',').try_fold(Self::NONE, |set, word| {
            let (_, those) = Self::WORDS
                .into_iter()
                .find(|(name, _)| word.trim().eq_ignore_ascii_case(name))?;
            Some(set.with(those))
        })
    }
}

impl Default for HeaderSet {
    fn default() -> Self {
        Self::STANDARD
    }
}
