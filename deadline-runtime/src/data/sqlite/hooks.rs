//! What `SQLite` asks us while it works.
//!
//! Three of the hooks know nothing of any job: they look at the ambient context of the thread, which is the job's while its
//! closure runs and none while we roll back.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::{AuthContext, Authorization};

use super::job::Job;
use crate::context::current;
use crate::time::Deadline;

/// Instructions of its virtual machine between two questions: some tens of microseconds.
const STRIDE: i32 = 1_000;
/// Between two looks at a lock: also how late a cancel is seen there.
const LONGEST_NAP: Duration = Duration::from_millis(10);
/// How long a lock is waited for where there is no deadline.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which commits are allowed while a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commits {
    /// None: inside a transaction only [`Transaction::commit`](super::Transaction::commit) commits.
    Never,
    /// While the job is wanted.
    WhileWanted,
}

/// Of a new connection, for good: every statement that is prepared asks first. Short statements, one after the other, may
/// never reach the stride.
pub(super) fn install(connection: &Connection) -> rusqlite::Result<()> {
    connection.authorizer(Some(|_: AuthContext<'_>| {
        if is_stopped() {
            Authorization::Deny
        } else {
            Authorization::Allow
        }
    }))
}

/// For one job. Set anew each time: a `PRAGMA busy_timeout` of the last one took the handler away.
pub(super) fn arm(
    connection: &Connection,
    job: &Arc<Job>,
    commits: Commits,
) -> rusqlite::Result<()> {
    connection.progress_handler(STRIDE, Some(is_stopped))?;
    connection.busy_handler(Some(wait))?;
    let job = job.clone();
    connection.commit_hook(Some(move || match commits {
        Commits::Never => true,
        Commits::WhileWanted => !job.may_commit(),
    }))
}

/// For what must not be interrupted.
pub(super) fn disarm(connection: &Connection) -> rusqlite::Result<()> {
    uninterrupted(connection)?;
    connection.commit_hook(None::<fn() -> bool>)
}

/// For a commit: it may still be refused, by its hook.
pub(super) fn uninterrupted(connection: &Connection) -> rusqlite::Result<()> {
    connection.progress_handler(0, None::<fn() -> bool>)
}

fn is_stopped() -> bool {
    current::with(|frame| frame.stopped(Deadline::now).is_some()) == Some(true)
}

/// Waits a little for a lock; false to give up.
fn wait(count: i32) -> bool {
    let limit = current::with(|frame| match frame.stopped(Deadline::now) {
        Some(_) => Err(()),
        None => Ok(frame.limits.soft),
    });
    let nap = match limit {
        Some(Ok(Some(deadline))) => nap(count).min(deadline.remaining()),
        Some(Ok(None)) | None if waited(count) < PATIENCE => nap(count),
        Some(Err(()) | Ok(None)) | None => return false,
    };
    std::thread::sleep(nap);
    !is_stopped()
}

/// The nap after so many naps: 1, 2, 4, 8 ms, then the longest.
fn nap(count: i32) -> Duration {
    let doubled = u32::try_from(count).map_or(u32::MAX, |count| {
        1u32.checked_shl(count).unwrap_or(u32::MAX)
    });
    Duration::from_millis(doubled.into()).min(LONGEST_NAP)
}

/// How long so many naps were.
fn waited(count: i32) -> Duration {
    let short: Duration = (0..count.min(4)).map(nap).sum();
    short + LONGEST_NAP * u32::try_from(count.saturating_sub(4)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_grow_to_the_longest_and_add_up() {
        let millis = |count| nap(count).as_millis();
        assert_eq!(
            [0, 1, 2, 3, 4, 31, 32, i32::MAX].map(millis),
            [1, 2, 4, 8, 10, 10, 10, 10]
        );
        assert_eq!(waited(0), Duration::ZERO);
        assert_eq!(waited(5), Duration::from_millis(25));
        assert_eq!(waited(-1), Duration::ZERO);
        assert!(waited(502) < PATIENCE);
        assert!(waited(503) >= PATIENCE);
    }
}
