//! How a piece of work gets done: handed to a thread, waited for as long as the context allows, judged when it is over.

use std::sync::Arc;

use rusqlite::ffi::SQLITE_CONSTRAINT_COMMITHOOK;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use super::Error;
use super::hooks::{self, Commits};
use super::job::{Job, Waiter};
use super::lease::Lease;
use crate::data::bounds::Bounds;
use crate::stop::{Cause, Phase, Stopped};

/// In what state the work finds the connection, and has to leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Outside any transaction; what it writes commits by itself.
    Alone,
    /// From no transaction into one.
    Begin,
    /// Inside one.
    Inside,
    /// Out of one.
    Commit,
}

/// How work ended on its thread.
enum Ended<T> {
    Value(T),
    /// By its context, or because its waiter had left.
    Stopped,
    Failed(rusqlite::Error),
    Unbalanced,
    /// A commit that failed in a way which does not say whether it happened.
    Doubtful(rusqlite::Error),
}

/// What became of it, for the one who waited.
pub(super) struct Done<T> {
    /// The connection; `None` if it is still at work, or lost.
    pub(super) lease: Option<Lease>,
    pub(super) result: Result<T, Failure>,
}

/// Why there is no value.
pub(super) struct Failure {
    pub(super) why: Why,
    /// Nothing of it has been committed, and nothing will be.
    pub(super) nothing_kept: bool,
}

#[derive(Debug)]
pub(super) enum Why {
    Stopped(Stopped),
    Failed(rusqlite::Error),
    Unbalanced,
    Lost,
}

/// Does `work` on the connection, on a thread for blocking work.
pub(super) async fn perform<T, W>(lease: Lease, bounds: &Bounds, kind: Kind, work: W) -> Done<T>
where
    T: Send + 'static,
    W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    let job = Job::of(bounds);
    let waiter = Waiter::of(&job);
    let (answer, reply) = oneshot::channel();
    let doing = job.clone();
    tokio::task::spawn_blocking(move || {
        let mut lease = lease;
        let ended = lease.work(&doing, kind, work);
        if let Err((mut lease, _)) = answer.send((lease, ended)) {
            // Nobody waits any more: here is a thread that may block.
            lease.tidy();
        }
    });
    let phase = match kind {
        Kind::Commit => Phase::Commit,
        Kind::Alone | Kind::Begin | Kind::Inside => Phase::Database,
    };
    let failed = |why, nothing_kept| Err(Failure { why, nothing_kept });
    match bounds.run(phase, reply).await {
        Ok(Ok((lease, ended))) => {
            waiter.done();
            let nothing_kept = !job.has_begun_to_commit();
            let result = match ended {
                Ended::Value(value) => Ok(value),
                Ended::Stopped => {
                    let stopped = bounds.judge(bounds.verdict(None), phase);
                    failed(Why::Stopped(stopped), nothing_kept)
                }
                // Also of a commit: it is rolled back by now.
                Ended::Failed(error) => {
                    let nothing_kept = nothing_kept || kind == Kind::Commit;
                    failed(Why::Failed(error), nothing_kept)
                }
                Ended::Unbalanced => failed(Why::Unbalanced, nothing_kept),
                Ended::Doubtful(error) => failed(Why::Failed(error), false),
            };
            Done {
                lease: Some(lease),
                result,
            }
        }
        Ok(Err(_)) => Done {
            lease: None,
            result: failed(Why::Lost, waiter.leave()),
        },
        Err(stopped) => Done {
            lease: None,
            result: failed(Why::Stopped(stopped), waiter.leave()),
        },
    }
}

impl Failure {
    /// As the error of a statement.
    pub(super) fn of_statement(self, bounds: &Bounds) -> Error {
        match self.why {
            Why::Stopped(stopped) => Error::left(stopped, self.nothing_kept),
            Why::Failed(error) => Error::Sqlite(error),
            Why::Unbalanced => Error::Unbalanced,
            Why::Lost if self.nothing_kept => Error::Lost,
            Why::Lost => {
                let stopped = bounds.stop(Cause::DependencyFailed, Phase::Database);
                Error::left(stopped.with_source(Error::Lost), false)
            }
        }
    }
}

impl Lease {
    fn work<T>(
        &mut self,
        job: &Arc<Job>,
        kind: Kind,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Ended<T> {
        // The thread may have been waited for.
        if job.is_stopped() {
            self.tidy();
            return Ended::Stopped;
        }
        let result = self.connection().and_then(|connection| {
            let commits = match kind {
                Kind::Alone | Kind::Commit => Commits::WhileWanted,
                Kind::Begin | Kind::Inside => Commits::Never,
            };
            hooks::arm(connection, job, commits)?;
            if kind == Kind::Commit {
                hooks::uninterrupted(connection)?;
            }
            let result = job.enter(|| work(connection));
            hooks::disarm(connection)?;
            result
        });
        let open = self.is_open();
        let ended = match result {
            Ok(value) if open == kind.leaves_open() => return Ended::Value(value),
            Ok(_) if kind == Kind::Inside && job.is_stopped() => Ended::Stopped,
            Ok(_) => Ended::Unbalanced,
            Err(error) if refused_by_hook(&error) && kind == Kind::Inside => Ended::Unbalanced,
            Err(error) if job.is_stopped() && ends_by_us(&error) => Ended::Stopped,
            Err(error) if kind == Kind::Commit && job.has_begun_to_commit() && !open => {
                Ended::Doubtful(error)
            }
            // A statement that failed is undone alone, and its transaction goes on.
            Err(error) if kind == Kind::Inside && open => return Ended::Failed(error),
            Err(error) => Ended::Failed(error),
        };
        self.tidy();
        ended
    }
}

impl Kind {
    const fn leaves_open(self) -> bool {
        matches!(self, Self::Begin | Self::Inside)
    }
}

/// Codes by which our hooks end a statement. Others cause them as well: that it was us is known from the job.
fn ends_by_us(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(
            ErrorCode::OperationInterrupted
                | ErrorCode::DatabaseBusy
                | ErrorCode::AuthorizationForStatementDenied
        )
    ) || refused_by_hook(error)
}

fn refused_by_hook(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(SQLITE_CONSTRAINT_COMMITHOOK)
}
