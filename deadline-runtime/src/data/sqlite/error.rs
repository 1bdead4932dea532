//! [`Error`]: what can become of work on the database.

use std::error;
use std::fmt;

use crate::data::{CommitError, UnknownCommit};
use crate::stop::{Cause, Phase, Stopped};

/// What became of work that did not end with its value.
///
/// [`Stopped::find`] finds the stop in it, [`CommitError::find`] the outcome of a commit.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It was stopped, or refused before it began, and nothing of it has happened. The [phase](Stopped::phase) says in
    /// what: `start`, `pool` (waiting for a connection) or `database`.
    Stopped(Stopped),
    /// A commit did not go through, or is not known to have: that of a transaction, or the one a statement outside a
    /// transaction ends with.
    Commit(CommitError),
    /// The transaction is over: an earlier statement of it was stopped or dropped, or `SQLite` rolled it back after an error.
    /// Nothing of it is kept.
    Poisoned(Stopped),
    /// An error of `SQLite`'s.
    Sqlite(rusqlite::Error),
    /// The closure left a transaction open, or ended one that it was called in. Rolled back.
    Unbalanced,
    /// The work did not come back: it panicked, or the runtime is shutting down. It is not committed, unless it had
    /// committed before that.
    Lost,
    /// The pool is closed.
    Closed,
}

impl Error {
    /// The stop, if it is one.
    #[must_use]
    pub const fn stopped(&self) -> Option<&Stopped> {
        match self {
            Self::Stopped(stopped) | Self::Poisoned(stopped) => Some(stopped),
            Self::Commit(error) => Some(error.stopped()),
            Self::Sqlite(_) | Self::Unbalanced | Self::Lost | Self::Closed => None,
        }
    }

    /// Why it was stopped.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        self.stopped().map(Stopped::cause)
    }

    /// In what it was stopped.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.stopped().map(Stopped::phase)
    }

    /// Of work that was left: whether something of it may be kept.
    pub(super) fn left(stopped: Stopped, nothing_kept: bool) -> Self {
        if nothing_kept {
            Self::Stopped(stopped)
        } else {
            Self::Commit(CommitError::Unknown(UnknownCommit {
                stopped,
                transaction: None,
            }))
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(stopped) => stopped.fmt(f),
            Self::Commit(error) => error.fmt(f),
            Self::Poisoned(stopped) => write!(
                f,
                "the transaction is over and nothing of it is kept: {stopped}"
            ),
            Self::Sqlite(error) => write!(f, "sqlite: {error}"),
            Self::Unbalanced => f.write_str(
                "BEGIN and COMMIT or ROLLBACK do not balance in one closure: rolled back; \
                 `begin`, `commit` and `rollback` hold a transaction over several",
            ),
            Self::Lost => {
                f.write_str("work on the database was lost: it panicked, or the runtime shuts down")
            }
            Self::Closed => f.write_str("the pool of the database is closed"),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Stopped(stopped) | Self::Poisoned(stopped) => Some(stopped),
            Self::Commit(error) => Some(error),
            Self::Sqlite(error) => Some(error),
            Self::Unbalanced | Self::Lost | Self::Closed => None,
        }
    }
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<CommitError> for Error {
    fn from(error: CommitError) -> Self {
        Self::Commit(error)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
