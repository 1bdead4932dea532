//! Stops and commits as sqlx's error.

use sqlx::Error;

use crate::data::CommitError;
use crate::stop::Stopped;

impl From<Stopped> for Error {
    /// [`Error::Io`], of the kind `TimedOut` for limits; [`Stopped::find`] finds the stop in it.
    fn from(stopped: Stopped) -> Self {
        Self::Io(stopped.into())
    }
}

impl From<CommitError> for Error {
    /// [`Error::Io`]; [`CommitError::find`] and [`Stopped::find`] look into it.
    fn from(error: CommitError) -> Self {
        Self::Io(error.into())
    }
}

/// The server's code.
pub(super) fn code(error: &Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Whether the server has answered with an error and goes on with the connection; else nobody knows what it is doing.
pub(super) fn is_an_answer(error: &Error) -> bool {
    let Some(error) = error.as_database_error() else {
        return false;
    };
    let severity = error
        .try_downcast_ref::<sqlx::postgres::PgDatabaseError>()
        .map(sqlx::postgres::PgDatabaseError::severity);
    !matches!(
        severity,
        None | Some(sqlx::postgres::PgSeverity::Fatal | sqlx::postgres::PgSeverity::Panic)
    )
}

/// Whether the connection cannot be used any more.
pub(super) fn breaks(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::Tls(_) | Error::Protocol(_) | Error::WorkerCrashed => true,
        Error::Database(_) => !is_an_answer(error),
        _ => false,
    }
}
