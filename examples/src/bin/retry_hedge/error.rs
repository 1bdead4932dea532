//! The error of a client, with a place for a stop.

use std::fmt;

use deadline_runtime::Stopped;

#[derive(Debug)]
pub enum ClientError {
    /// The dependency answered that it cannot.
    Unavailable,
    Stopped(Stopped),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable => f.write_str("503 Service Unavailable"),
            Self::Stopped(stopped) => stopped.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable => None,
            Self::Stopped(stopped) => stopped.source(),
        }
    }
}

impl From<Stopped> for ClientError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}
