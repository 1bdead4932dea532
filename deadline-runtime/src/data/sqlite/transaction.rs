//! [`Transaction`]: a connection between its `BEGIN` and its end.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use rusqlite::{Connection, Params, Row};
use tokio::sync::oneshot;

use super::Error;
use super::lease::Lease;
use super::perform::{Kind, Why, perform};
use super::pool::statements;
use crate::data::bounds::{Bounds, Verdict};
use crate::data::{CommitError, CommitOutcome, UnknownCommit};
use crate::stop::{Brief, Cause, Details, Phase, Stopped};

/// A transaction.
///
/// Dropped without a commit, at any point, it is rolled back on a thread of its own, and its connection goes back to the
/// pool. Between two statements it holds its locks: nothing ends it there but its owner, so let it be owned by the
/// function whose deadline it belongs to.
///
/// A statement that fails by itself (a constraint, a type) is undone alone and the transaction goes on. One that is stopped, or
/// whose future is dropped, ends it: everything that follows is refused with [`Error::Poisoned`].
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction {
    state: State,
    /// Of its beginning: what bounds a call that has no context.
    begun: Bounds,
}

enum State {
    Open(Lease),
    /// Rolled back, or about to be.
    Over(Over),
}

/// How a commit ended that did not, or is not known to have.
enum Uncommitted {
    Stopped(CommitError),
    /// By `SQLite`; rolled back.
    Refused(Bounds, Error),
}

#[derive(Clone, Copy)]
enum Over {
    /// A statement of it was stopped.
    Stopped(Brief),
    /// The future of a statement was dropped.
    Dropped,
    /// By `SQLite`, after an error.
    Failed,
}

impl Transaction {
    pub(super) fn begun(lease: Lease, bounds: Bounds) -> Self {
        Self {
            state: State::Open(lease),
            begun: bounds,
        }
    }

    /// Runs a closure inside the transaction, on a thread for blocking work and with the context as the ambient one.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run<T, W>(&mut self, work: W) -> impl Future<Output = Result<T, Error>> + Send
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let bounds = Bounds::here();
        async move {
            let bounds = bounds.polled().or(self.begun.context());
            let lease = self.take(&bounds)?;
            let done = perform(lease, &bounds, Kind::Inside, work).await;
            match (done.lease, &done.result) {
                (Some(lease), _) if lease.is_open() => self.state = State::Open(lease),
                (_, Err(failure)) => {
                    self.state = State::Over(match &failure.why {
                        Why::Stopped(stopped) => Over::Stopped(stopped.brief()),
                        Why::Failed(_) | Why::Unbalanced | Why::Lost => Over::Failed,
                    });
                }
                (_, Ok(_)) => self.state = State::Over(Over::Failed),
            }
            done.result.map_err(|failure| failure.of_statement(&bounds))
        }
    }

    /// The connection for one statement. Until it is put back, the transaction is one whose statement was dropped.
    fn take(&mut self, bounds: &Bounds) -> Result<Lease, Error> {
        if let State::Over(over) = &self.state {
            return Err(Error::Poisoned(over.stopped(bounds)));
        }
        if let Err(refused) = bounds.admit(Duration::ZERO) {
            // With the whole transaction's time over nobody needs its locks any more; a narrower context only refuses.
            if matches!(self.begun.verdict(None), Verdict::Stopped(_)) {
                self.state = State::Over(Over::Stopped(refused.brief()));
            }
            return Err(Error::Stopped(refused));
        }
        match std::mem::replace(&mut self.state, State::Over(Over::Dropped)) {
            State::Open(lease) => Ok(lease),
            State::Over(over) => Err(Error::Poisoned(over.stopped(bounds))),
        }
    }

    /// Why it is over, or why the calling context is.
    ///
    /// # Errors
    /// The stop.
    pub fn check(&self) -> Result<(), Stopped> {
        let bounds = Bounds::here().or(self.begun.context());
        match &self.state {
            State::Over(over) => Err(over.stopped(&bounds)),
            State::Open(_) => bounds.check(Phase::Database),
        }
    }

    /// Executes one statement; how many rows it changed.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn execute<P>(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        params: P,
    ) -> impl Future<Output = Result<usize, Error>> + Send
    where
        P: Params + Send + 'static,
    {
        self.run(statements::execute(sql.into(), params))
    }

    /// The first row of a query; [`rusqlite::Error::QueryReturnedNoRows`] if there is none.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn query_row<T, P, R>(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        params: P,
        read: R,
    ) -> impl Future<Output = Result<T, Error>> + Send
    where
        T: Send + 'static,
        P: Params + Send + 'static,
        R: FnOnce(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(statements::query_row(sql.into(), params, read))
    }

    /// Every row of a query.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn query_all<T, P, R>(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        params: P,
        read: R,
    ) -> impl Future<Output = Result<Vec<T>, Error>> + Send
    where
        T: Send + 'static,
        P: Params + Send + 'static,
        R: FnMut(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        self.run(statements::query_all(sql.into(), params, read))
    }

    /// Commits.
    ///
    /// Refused with less left than [`Policy::commit_min`](crate::data::Policy::commit_min) or after expiry, and up to the
    /// moment at which the first byte is made durable; from there on nothing interrupts it, also when this future is
    /// dropped.
    ///
    /// # Errors
    /// [`Error::Commit`]; [`Error::Sqlite`] if `SQLite` refused it, as for a deferred constraint: then it is rolled back.
    /// [`CommitError::Unknown`] is the one to look for: it may have happened.
    pub fn commit(self) -> impl Future<Output = Result<(), Error>> + Send {
        let bounds = Bounds::here();
        async move {
            match self.end(bounds).await {
                Ok(()) => Ok(()),
                Err(Uncommitted::Refused(_, error)) => Err(error),
                Err(Uncommitted::Stopped(error)) => Err(Error::Commit(error)),
            }
        }
    }

    /// As [`commit`](Self::commit), with the outcome as a value. A waiter that is stopped before the moment from which on it
    /// is not interrupted has [`CommitOutcome::NotCommitted`], after it [`CommitOutcome::Unknown`], at its deadline in
    /// both cases. An error of `SQLite`'s is the source of the stop in it.
    pub fn commit_outcome(self) -> impl Future<Output = CommitOutcome> + Send {
        let bounds = Bounds::here();
        async move {
            match self.end(bounds).await {
                Ok(()) => CommitOutcome::Committed,
                Err(Uncommitted::Refused(bounds, error)) => {
                    let stopped = bounds.stop(Cause::DependencyFailed, Phase::Commit);
                    CommitOutcome::NotCommitted(stopped.with_source(error))
                }
                Err(Uncommitted::Stopped(CommitError::NotCommitted(stopped))) => {
                    CommitOutcome::NotCommitted(stopped)
                }
                Err(Uncommitted::Stopped(CommitError::Unknown(unknown))) => {
                    CommitOutcome::Unknown(unknown)
                }
            }
        }
    }

    async fn end(self, call: Bounds) -> Result<(), Uncommitted> {
        let not = |stopped| Uncommitted::Stopped(CommitError::NotCommitted(stopped));
        let bounds = call.polled().or(self.begun.context());
        let lease = match self.state {
            State::Open(lease) => lease,
            State::Over(over) => return Err(not(over.stopped(&bounds))),
        };
        bounds.admit(lease.policy().commit_min).map_err(not)?;
        let commit = |connection: &Connection| connection.execute_batch("COMMIT");
        let Err(failure) = perform(lease, &bounds, Kind::Commit, commit).await.result else {
            return Ok(());
        };
        let failed = || bounds.stop(Cause::DependencyFailed, Phase::Commit);
        let stopped = match failure.why {
            Why::Stopped(stopped) => stopped,
            Why::Failed(error) if failure.nothing_kept => {
                return Err(Uncommitted::Refused(bounds, Error::Sqlite(error)));
            }
            Why::Failed(error) => failed().with_source(error),
            Why::Unbalanced => failed().with_source(Error::Unbalanced),
            Why::Lost => failed().with_source(Error::Lost),
        };
        Err(Uncommitted::Stopped(if failure.nothing_kept {
            CommitError::NotCommitted(stopped)
        } else {
            CommitError::Unknown(UnknownCommit {
                stopped,
                transaction: None,
            })
        }))
    }

    /// Rolls back and waits until the locks are free, for at most [`Policy::cleanup`](crate::data::Policy::cleanup) and whatever the deadline says. Dropping
    /// the transaction does the same without waiting.
    ///
    /// # Errors
    /// [`Error::Lost`] if it was not heard of in that time. It is not committed in any case.
    pub async fn rollback(self) -> Result<(), Error> {
        let State::Open(mut lease) = self.state else {
            return Ok(());
        };
        let most = lease.policy().cleanup;
        let (done, heard) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            lease.tidy();
            drop(lease);
            let _ = done.send(());
        });
        match tokio::time::timeout(most, heard).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Error::Lost),
        }
    }
}

impl Over {
    fn stopped(self, bounds: &Bounds) -> Stopped {
        match self {
            Self::Stopped(brief) => Stopped::new(Details::of(brief)),
            Self::Dropped => bounds.stop(Cause::Abandoned, Phase::Database),
            Self::Failed => bounds.stop(Cause::DependencyFailed, Phase::Database),
        }
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Open(_) => "open",
            State::Over(Over::Stopped(_)) => "stopped",
            State::Over(Over::Dropped) => "dropped",
            State::Over(Over::Failed) => "rolled back",
        };
        f.debug_tuple("Transaction").field(&state).finish()
    }
}
