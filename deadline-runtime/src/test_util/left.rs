//! What a request has left behind, and where it has been.

use crate::context::Context;
use crate::tasks::Tracker;

/// What is registered with a context at this moment; for tests that nothing is left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registered {
    /// Contexts directly below it.
    pub children: usize,
    /// Tasks that its cancel would wake.
    pub waiting: usize,
}

/// What is registered with `context` at this moment.
#[must_use]
pub fn registered(context: &Context) -> Registered {
    let node = context.node();
    Registered {
        children: node.map_or(0, |node| node.child_count()),
        waiting: node.map_or(0, |node| node.signal.waiting()),
    }
}

/// How many checkpoints the request of `context` has passed: the range of `n` for [`run_stopped_at`](super::run_stopped_at).
///
/// All of them, where the clock is paused. On one that runs a loop does not look at every iteration, and those at which it
/// did not are not counted.
#[must_use]
pub fn checkpoints_passed(context: &Context) -> usize {
    context.node().map_or(0, |node| node.trip().passed())
}

/// That nothing is registered with `context`: no context below it, no task that its cancel would wake.
///
/// For the end of a test, when everything under the context has ended or been dropped.
///
/// # Panics
/// If something is left, with what it is.
#[track_caller]
pub fn assert_nothing_left(context: &Context) {
    let Registered { children, waiting } = registered(context);
    assert!(
        children == 0 && waiting == 0,
        "{context:?} is not idle; contexts alive below it: {children}, tasks that its cancel would wake: {waiting}. Something \
         that was started under it is still running, or is kept without being polled"
    );
}

/// That nothing runs any more that `tracker` counts: requests, scopes, critical and detached work, hooks, orphans.
///
/// # Panics
/// If something does, with the counts.
#[track_caller]
pub fn assert_idle(tracker: &Tracker) {
    let stats = tracker.stats();
    assert!(
        stats.is_idle(),
        "something is still running that the tracker counts: {stats:?}"
    );
}

/// That the request of `context` has passed exactly `expected` checkpoints.
///
/// # Panics
/// If it has not, with both figures.
#[track_caller]
pub fn assert_checkpoints(context: &Context, expected: usize) {
    let passed = checkpoints_passed(context);
    assert!(
        passed == expected,
        "{context:?} has passed {passed} checkpoints, not {expected}; a checkpoint is the start of an annotated function, of an \
         await, or of an iteration"
    );
}
