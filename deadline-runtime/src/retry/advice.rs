//! [`Advice`]: what an error says about trying again.

use std::time::Duration;

use crate::attempt::worth_another;
use crate::stop::{Sent, Stopped};

/// What the other side says about when to come back: `Retry-After`, `grpc-retry-pushback-ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pushback {
    /// Not before this has passed; it replaces the backoff.
    After(Duration),
    /// Not at all.
    Never,
}

impl Pushback {
    /// The value of `grpc-retry-pushback-ms`: a negative one says not to come back.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        u64::try_from(millis).map_or(Self::Never, |millis| {
            Self::After(Duration::from_millis(millis))
        })
    }
}

/// What an error says about trying again; see [`Retrying::advise`](super::Retrying::advise).
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::retry::Advice;
///
/// let busy = Advice::retry().after(Duration::from_millis(200));
/// let wrong = Advice::give_up();
/// assert_ne!(busy, wrong);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Advice {
    pub(super) retry: bool,
    pub(super) sent: Sent,
    pub(super) pushback: Option<Pushback>,
}

impl Advice {
    /// Another attempt may succeed.
    pub const fn retry() -> Self {
        Self {
            retry: true,
            sent: Sent::Unknown,
            pushback: None,
        }
    }

    /// Another attempt would fail as well.
    pub const fn give_up() -> Self {
        Self {
            retry: false,
            ..Self::retry()
        }
    }

    /// Another attempt may succeed after this time.
    pub const fn after(self, wait: Duration) -> Self {
        self.pushback(Pushback::After(wait))
    }

    /// What the other side said about coming back.
    pub const fn pushback(mut self, pushback: Pushback) -> Self {
        self.pushback = Some(pushback);
        self
    }

    /// Whether the attempt can have had an effect.
    pub const fn sent(mut self, sent: Sent) -> Self {
        self.sent = sent;
        self
    }

    /// Of an attempt that ended with this stop.
    pub(super) fn of_stop(stopped: &Stopped) -> Self {
        Self {
            retry: worth_another(stopped.cause()),
            #[cfg(feature = "http")]
            pushback: super::clients::pushback(stopped),
            ..Self::retry()
        }
    }
}

/// Errors that know whether the request they belong to is worth another attempt; used by
/// [`Retrying::classified`](super::Retrying::classified).
///
/// For error types of clients: they know what the other side said and how far the request had come. With their features
/// `http::Unavailable`, `reqwest::Error` and `tonic::Status` do.
///
/// ```
/// use deadline_runtime::Sent;
/// use deadline_runtime::retry::{Advice, Retryable};
///
/// enum ClientError {
///     Connect,
///     Status(u16),
/// }
///
/// impl Retryable for ClientError {
///     fn advice(&self) -> Advice {
///         match self {
///             Self::Connect => Advice::retry().sent(Sent::NotSent),
///             Self::Status(502..=504) => Advice::retry(),
///             Self::Status(_) => Advice::give_up(),
///         }
///     }
/// }
/// # let _ = (ClientError::Connect, ClientError::Status(200));
/// ```
pub trait Retryable {
    /// What this error says.
    fn advice(&self) -> Advice;
}

/// A stop is worth another attempt if a limit or the dependency caused it, and not if it was cancelled or refused.
impl Retryable for Stopped {
    fn advice(&self) -> Advice {
        Advice::of_stop(self).sent(self.sent())
    }
}
