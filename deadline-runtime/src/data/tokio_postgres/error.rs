//! [`Error`]: what can go wrong, ours and the driver's.

use std::error;
use std::fmt;

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::data::CommitError;
use crate::stop::Stopped;

/// Why something on the database did not work.
///
/// [`Stopped::find`] and [`CommitError::find`] look into it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server's error, or the driver's.
    Postgres(tokio_postgres::Error),
    /// The pool's: it is closed, a hook failed, one of its own limits has passed.
    Pool(PoolError),
    /// The deadline, or a cancel. The server's error, if it was the first to know, is the source.
    Stopped(Stopped),
    /// A commit that has not happened, or of which nobody knows. A statement ends with it when the `BEGIN` before it
    /// has failed: it may then have been committed by itself.
    Commit(CommitError),
}

impl Error {
    /// What the server said, unless it only said that we had stopped it.
    #[must_use]
    pub fn as_db_error(&self) -> Option<&DbError> {
        match self {
            Self::Postgres(error) => error.as_db_error(),
            _ => None,
        }
    }

    /// The server's code, unless it is the one of a stop.
    #[must_use]
    pub fn code(&self) -> Option<&SqlState> {
        self.as_db_error().map(DbError::code)
    }

    /// A limit of ours that holds whoever waits.
    pub(super) const fn out_of_time() -> Self {
        Self::Pool(PoolError::Timeout(TimeoutType::Create))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(error) => error.fmt(f),
            Self::Pool(error) => error.fmt(f),
            Self::Stopped(stopped) => stopped.fmt(f),
            Self::Commit(error) => error.fmt(f),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(match self {
            Self::Postgres(error) => return error.source(),
            Self::Pool(error) => return error.source(),
            Self::Stopped(stopped) => stopped,
            Self::Commit(error) => error,
        })
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Postgres(error),
            error => Self::Pool(error),
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

/// Whether the server has answered with an error and goes on with the connection.
pub(super) fn is_an_answer(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    !matches!(severity, None | Some(Severity::Fatal | Severity::Panic))
}

/// Whether the connection cannot be used any more. (What is left are faults of parameters and results, which the
/// driver finds by itself.)
pub(super) fn breaks(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || error.as_db_error().is_some() && !is_an_answer(error)
}

/// What a stop is due to, without being an error of the driver.
#[derive(Debug)]
pub(super) struct Fault(pub(super) &'static str);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl error::Error for Fault {}

pub(super) type Failure = Box<dyn error::Error + Send + Sync>;
