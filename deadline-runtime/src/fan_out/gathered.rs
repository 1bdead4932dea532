//! [`Gathered`] and [`Missed`]: the answer of a fan-out, and why a part of it is missing.

use std::error::Error;
use std::fmt;

use crate::context::Missing;
use crate::stop::{Cause, Stopped};

/// The answer of a fan-out: one value a branch, in the order in which they were written, and what is missing.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "it says what is missing from the answer"]
pub struct Gathered<V> {
    /// A tuple for [`fan_out`](super::fan_out), a `Vec` for [`fan_out_all`](super::fan_out_all). A required branch is its value,
    /// an optional one a `Result` with its value or the [`Missed`].
    pub values: V,
    missing: Vec<Missing>,
}

impl<V> Gathered<V> {
    pub(super) fn new(values: V, missing: Vec<Missing>) -> Self {
        Self { values, missing }
    }

    /// Whether nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// The branches that are missing and why, in the order of the branches.
    #[must_use]
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// One cause for everything that is missing; `None` when it is complete.
    ///
    /// If time was the cause of all of it, that is `deadline_exceeded`; else the first that was something else.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        let time = |cause: &Cause| {
            matches!(
                cause,
                Cause::DeadlineExceeded | Cause::DependencyTimeout | Cause::LocalBudgetRejected
            )
        };
        let mut causes = self.missing.iter().map(Missing::cause);
        if self.missing.is_empty() {
            return None;
        }
        Some(
            causes
                .find(|cause| !time(cause))
                .unwrap_or(Cause::DeadlineExceeded),
        )
    }
}

/// Why a branch has no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum Missed<E> {
    /// The branch was stopped or refused: by its cut-off, the deadline, a cancel.
    Stopped(Stopped),
    /// The branch came back with an error of its own.
    #[non_exhaustive]
    Failed {
        /// Why, as far as it can be known: the branch's own stop if it was stopped by then (most error types hide one),
        /// else `dependency_failed`.
        cause: Cause,
        /// The error.
        error: E,
    },
}

impl<E> Missed<E> {
    /// Why.
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::Stopped(stopped) => stopped.cause(),
            Self::Failed { cause, .. } => *cause,
        }
    }

    /// The stop, if the branch was stopped before it came back with anything.
    #[must_use]
    pub fn stopped(&self) -> Option<&Stopped> {
        match self {
            Self::Stopped(stopped) => Some(stopped),
            Self::Failed { .. } => None,
        }
    }

    /// The branch's own error, if it came back with one.
    #[must_use]
    pub fn error(&self) -> Option<&E> {
        match self {
            Self::Stopped(_) => None,
            Self::Failed { error, .. } => Some(error),
        }
    }
}

impl<E: From<Stopped>> Missed<E> {
    /// As the branch's error type, which has a place for a stop.
    pub fn into_error(self) -> E {
        match self {
            Self::Stopped(stopped) => E::from(stopped),
            Self::Failed { error, .. } => error,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Missed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(stopped) => stopped.fmt(f),
            Self::Failed { cause, error } => write!(f, "{cause}: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for Missed<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Stopped(stopped) => Some(stopped),
            Self::Failed { error, .. } => Some(error),
        }
    }
}
