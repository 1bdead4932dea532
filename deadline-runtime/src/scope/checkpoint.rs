//! What the expansion calls where it returns early.

use std::panic::Location;

use super::life::State;
use crate::context::Missing;
use crate::context::current;
use crate::stop::{FromStopped, Phase, Stopped};
use crate::time::Deadline;

/// The stop of the running scope, if it is stopped; `None` outside any scope.
///
/// Reads the clock itself: in a loop that never gives its thread away no timer fires.
#[track_caller]
#[must_use]
pub fn checkpoint() -> Option<Stopped> {
    at(Location::caller())
}

fn at(location: &'static Location<'static>) -> Option<Stopped> {
    crate::trip::count();
    current::with_path(|frame, path| {
        let cause = frame.stopped(Deadline::now)?;
        let now = Deadline::now();
        Some(frame.stop_error(cause, Phase::Compute, now, location, path.to_vec()))
    })
    .flatten()
}

/// The return value of a stopped function.
#[must_use]
pub fn stop<T: FromStopped>(stopped: Stopped) -> T {
    T::from_stopped(stopped)
}

/// Records that the result of the stopped operation is missing from the answer.
pub fn missed(stopped: Stopped) -> Stopped {
    current::with(|frame| {
        let missing = Missing {
            operation: stopped.operation(),
            cause: stopped.cause(),
        };
        if !frame.is_none() {
            frame.node().records().missing(missing);
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
    }
}
