//! [`Fault`] and [`Injected`].

use std::error::Error;
use std::fmt;
use std::io;
use std::panic::Location;
use std::time::Duration;

use crate::stop::{Brief, Cause, Details, Limit, Phase, Stopped};

/// What goes wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing.
    Pass,
    /// The work begins so much later.
    Delay(Duration),
    /// The work never begins and the call is never ready. Nothing wakes it.
    Hang,
    /// The call fails at once, the work never begins.
    Error,
    /// The work begins, then the connection is gone: it is dropped after its first poll, and what came of it is not known.
    Disconnect,
    /// Never ready, and wakes itself at once, for ever: it uses up the processor but gives its thread away.
    Spin,
    /// Holds the thread for so long without giving it away, then does the work. On a paused clock the clock moves by
    /// that, on a real one the thread sleeps.
    Block(Duration),
}

/// The error that a fault injects.
///
/// Becomes an [`io::Error`] (`ConnectionReset` for a disconnect), a [`Stopped`] (`dependency_failed`), a boxed error, and
/// whatever has a `From` of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Injected {
    /// By [`Fault::Error`].
    Error,
    /// By [`Fault::Disconnect`].
    Disconnect,
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "injected fault: the call failed",
            Self::Disconnect => "injected fault: the connection was lost during the call",
        })
    }
}

impl Error for Injected {}

impl From<Injected> for io::Error {
    fn from(injected: Injected) -> Self {
        let kind = match injected {
            Injected::Error => io::ErrorKind::Other,
            Injected::Disconnect => io::ErrorKind::ConnectionReset,
        };
        Self::new(kind, injected)
    }
}

impl From<Injected> for Stopped {
    #[track_caller]
    fn from(injected: Injected) -> Self {
        let limit = Limit {
            operation: "injected fault",
            location: Location::caller(),
        };
        let stopped = Self::new(Details::of(Brief {
            cause: Cause::DependencyFailed,
            phase: Phase::Request,
            operation: limit.operation,
            limit,
            deadline: None,
            budget: None,
            elapsed: Duration::ZERO,
        }));
        stopped.with_source(injected)
    }
}
