//! [`Attempt`] and [`AttemptRecord`]: an attempt as the program sees it, before and after.

use std::fmt;
use std::time::Duration;

use crate::stop::{Cause, Stopped};

/// What an attempt is told when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Counted from 1.
    pub number: u32,
    /// What it may take: the least of its cap and of what is left before the reserve. `None` is unlimited.
    pub granted: Option<Duration>,
}

impl Attempt {
    /// Whether none was made before.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.number == 1
    }
}

/// How an attempt ended. Every attempt that was started has exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// With a value, which is the one returned.
    Succeeded,
    /// With an error.
    Failed,
    /// By a limit: its own cap, one further inside, or the deadline around it.
    TimedOut,
    /// What it called was refused before it started.
    Refused,
    /// Stopped or dropped before it was over.
    Cancelled(Cause),
}

impl AttemptOutcome {
    /// The outcome of an attempt that ended with a stop.
    pub(crate) fn of_stop(stopped: &Stopped) -> Self {
        match stopped.cause() {
            Cause::DeadlineExceeded | Cause::DependencyTimeout => Self::TimedOut,
            Cause::LocalBudgetRejected | Cause::Overload => Self::Refused,
            Cause::DependencyFailed | Cause::BadDeadline => Self::Failed,
            cause => Self::Cancelled(cause),
        }
    }

    /// The word for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Refused => "refused",
            Self::Cancelled(_) => "cancelled",
        }
    }
}

impl fmt::Display for AttemptOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        match self {
            Self::Cancelled(cause) => write!(f, ": {cause}"),
            _ => Ok(()),
        }
    }
}

/// An attempt that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// The name of the retry or hedge.
    pub operation: &'static str,
    /// Counted from 1.
    pub number: u32,
    /// When it began, counted from the beginning of the first.
    pub started: Duration,
    /// What it was granted; `None` is unlimited.
    pub granted: Option<Duration>,
    /// How long it took.
    pub elapsed: Duration,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// For one that lost against another: how long it took to end after it was told to.
    pub stop_lag: Option<Duration>,
}
