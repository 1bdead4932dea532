//! [`CommitOutcome`]: what became of a commit.

use std::error::Error;
use std::fmt;

use crate::stop::{Cause, Stopped};

/// What became of a commit.
///
/// A commit that was on its way when the deadline passed, the connection broke or the server went down may have
/// happened or not. That is an outcome of its own: answering "failed" makes a client repeat what has happened,
/// answering "done" loses it.
///
/// ```
/// use deadline_runtime::data::CommitOutcome;
///
/// fn answer(outcome: CommitOutcome) -> u16 {
///     match outcome {
///         CommitOutcome::Committed => 201,
///         // Nothing has happened: it may be tried again.
///         CommitOutcome::NotCommitted(_) => 503,
///         // Not to be repeated without an idempotency key.
///         CommitOutcome::Unknown(_) => 504,
///     }
/// }
/// ```
#[derive(Debug)]
#[must_use = "a commit whose outcome nobody looks at is a guess"]
pub enum CommitOutcome {
    /// The server has said so.
    Committed,
    /// It has not happened and will not: it was refused before it was sent, or the server refused it.
    NotCommitted(Stopped),
    /// It was sent, and nobody can say yet.
    Unknown(UnknownCommit),
}

impl CommitOutcome {
    /// Why it is not committed, or not known to be.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Self::Committed => None,
            Self::NotCommitted(stopped) => Some(stopped.cause()),
            Self::Unknown(unknown) => Some(unknown.stopped.cause()),
        }
    }

    /// Whether the server has said that it is committed.
    #[must_use]
    pub const fn is_committed(&self) -> bool {
        matches!(self, Self::Committed)
    }

    /// The same for `?`.
    ///
    /// # Errors
    /// Every outcome but [`Committed`](Self::Committed).
    pub fn into_result(self) -> Result<(), CommitError> {
        match self {
            Self::Committed => Ok(()),
            Self::NotCommitted(stopped) => Err(CommitError::NotCommitted(stopped)),
            Self::Unknown(unknown) => Err(CommitError::Unknown(unknown)),
        }
    }
}

/// A commit of unknown outcome.
#[derive(Debug)]
pub struct UnknownCommit {
    pub(crate) stopped: Stopped,
    pub(crate) transaction: Option<TransactionId>,
}

impl UnknownCommit {
    /// Why it is unknown; the driver's error, if there was one, is its source.
    pub const fn stopped(&self) -> &Stopped {
        &self.stopped
    }

    /// The transaction, to ask the server about it; `None` if its id was not read beforehand
    /// ([`Policy::resolvable`](super::Policy::resolvable)), or if it had none because it had written nothing.
    #[must_use]
    pub const fn transaction(&self) -> Option<TransactionId> {
        self.transaction
    }
}

/// The id under which a server remembers a transaction for some time after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransactionId(pub(crate) u64);

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the server says about a transaction afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "it says what has happened"]
pub enum Resolution {
    /// It is committed.
    Committed,
    /// It is rolled back, and nothing of it has happened.
    NotCommitted,
    /// It is still running, or so old that the server has forgotten it.
    Unknown,
}

/// A commit that did not go through, or is not known to have gone through, as an error.
///
/// ```
/// use deadline_runtime::data::CommitError;
///
/// /// Whether a failed request may be sent again as it is.
/// fn may_repeat(error: &(dyn std::error::Error + 'static)) -> bool {
///     !matches!(CommitError::find(error), Some(CommitError::Unknown(_)))
/// }
/// # assert!(may_repeat(&std::fmt::Error));
/// ```
#[derive(Debug)]
pub enum CommitError {
    /// It has not happened and will not.
    NotCommitted(Stopped),
    /// Nobody can say yet.
    Unknown(UnknownCommit),
}

impl CommitError {
    /// Why.
    pub const fn stopped(&self) -> &Stopped {
        match self {
            Self::NotCommitted(stopped) | Self::Unknown(UnknownCommit { stopped, .. }) => stopped,
        }
    }

    /// Digs it out of an error and its sources; [`Stopped::find`] finds the stop in it.
    #[must_use]
    pub fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut next: Option<&'e (dyn Error + 'static)> = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref::<Self>() {
                return Some(found);
            }
            // `io::Error` shows what it wraps as itself, not as its source.
            let inner = error.downcast_ref::<std::io::Error>();
            if let Some(inner) = inner.and_then(std::io::Error::get_ref)
                && let Some(found) = Self::find(inner)
            {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

/// `outcome of the commit unknown (transaction 742): pay stopped: …`
impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCommitted(stopped) => write!(f, "not committed: {stopped}"),
            Self::Unknown(unknown) => match unknown.transaction {
                Some(id) => write!(
                    f,
                    "outcome of the commit unknown (transaction {id}): {}",
                    unknown.stopped
                ),
                None => write!(f, "outcome of the commit unknown: {}", unknown.stopped),
            },
        }
    }
}

impl Error for CommitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.stopped())
    }
}

impl From<CommitError> for std::io::Error {
    /// Of the kind that the stop would have.
    fn from(error: CommitError) -> Self {
        Self::new(error.stopped().io_kind(), error)
    }
}
