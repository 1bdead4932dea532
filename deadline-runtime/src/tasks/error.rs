//! [`TaskError`]: how a task ends that has no value.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::stop::Stopped;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Why a task has no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskError {
    /// It was refused or stopped, or did not end within the grace and was aborted.
    Stopped(Stopped),
    /// It panicked.
    Panicked(Panicked),
}

impl TaskError {
    /// The stop; a panic goes on in the caller.
    ///
    /// # Panics
    /// With the task's own panic, if it had one.
    pub fn stopped_or_resume(self) -> Stopped {
        match self {
            Self::Stopped(stopped) => stopped,
            Self::Panicked(panicked) => panicked.resume(),
        }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(stopped) => stopped.fmt(f),
            Self::Panicked(panicked) => panicked.fmt(f),
        }
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Stopped(stopped) => Some(stopped),
            Self::Panicked(_) => None,
        }
    }
}

/// The panic of a task, with its payload.
pub struct Panicked {
    operation: &'static str,
    /// Behind a lock because a payload need not be `Sync`, and errors are expected to be.
    payload: Mutex<Payload>,
}

impl Panicked {
    pub(super) fn new(operation: &'static str, payload: Payload) -> Self {
        Self {
            operation,
            payload: Mutex::new(payload),
        }
    }

    /// The operation that panicked.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// The panic's message, if it has one.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
        message(&**payload).map(str::to_owned)
    }

    /// What was thrown.
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send + 'static> {
        self.payload
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the panic go on here.
    ///
    /// # Panics
    /// Always: that is its purpose.
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.into_payload())
    }
}

/// What `panic!` was called with, mostly.
pub(super) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} panicked", self.operation)?;
        match self.message() {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Panicked({self})")
    }
}
