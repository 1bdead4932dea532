//! What the expansion calls where it returns early.

use super::state::{Flag, State};
use crate::context::Missing;
use crate::context::current;
use crate::stop::{FromStopped, Stopped};

/// The return value of a stopped function.
#[must_use]
pub fn stop<T: FromStopped>(stopped: Stopped) -> T {
    T::from_stopped(stopped)
}

/// Gives an async block its type: the expansion has a `return` of this before the body, where it is never reached.
#[must_use]
pub fn returns<T>() -> T {
    unreachable!("this stands behind a return and is never called")
}

/// The value of a stopped function that has a fallback, recorded as missing.
pub fn instead<T>(stopped: Stopped, fallback: impl FnOnce(Stopped) -> T) -> T {
    fallback(missed(stopped))
}

/// Records that the result of the stopped operation is missing from the answer.
pub(super) fn missed(stopped: Stopped) -> Stopped {
    current::with(|frame| {
        let missing = Missing {
            operation: stopped.operation(),
            cause: stopped.cause(),
        };
        if !frame.is_none() {
            let node = frame.node();
            node.records().missing(missing);
            node.forget_stop(&stopped);
        }
    });
    stopped
}

/// The same, where the scope is over and knows its node.
pub(super) fn missed_by(stopped: &Stopped, state: &State) {
    if let Some(node) = &state.node {
        node.records().missing(Missing {
            operation: state.description().name,
            cause: stopped.cause(),
        });
        if state.flags.has(Flag::Binds) {
            node.forget_stops(stopped);
        } else {
            node.forget_stop(stopped);
        }
    }
}
