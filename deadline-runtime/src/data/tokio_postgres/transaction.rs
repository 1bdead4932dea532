//! [`Transaction`]: a transaction, or a part of one.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::commit::{self, Committed};
use super::connection::{Connection, Owed};
use super::error::Error;
use crate::data::bounds::Bounds;
use crate::data::{CommitOutcome, postgres};
use crate::stop::{Phase, Stopped};

/// A transaction inside the deadline: in place of [`tokio_postgres::Transaction`] and deadpool's.
///
/// Statements are methods of the [`Connection`] it derefs to. Dropped without a commit it is rolled back by a task of
/// its own. A transaction that was begun in another one is a savepoint.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction<'c>(Kind<'c>);

enum Kind<'c> {
    Whole(Box<Connection>),
    Part {
        connection: &'c mut Connection,
        owed: Option<Owed>,
    },
}

impl Transaction<'_> {
    pub(super) fn new(connection: Connection) -> Self {
        Self(Kind::Whole(Box::new(connection)))
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        match &mut self.0 {
            Kind::Whole(connection) => connection,
            Kind::Part { connection, .. } => connection,
        }
    }

    /// Commits, or releases the savepoint.
    ///
    /// It is refused when the calling context is stopped or has less left than
    /// [`Policy::commit_min`](crate::data::Policy::commit_min). What was put off until the commit (deferred
    /// constraints and triggers) happens first and within the limit; the commit itself carries a guard on the server's
    /// clock. From there on it is never dropped: who leaves only does not hear of it.
    ///
    /// # Errors
    /// [`Error::Commit`] unless the server refused it with an error of its own, which is passed on.
    /// [`CommitError::Unknown`](crate::data::CommitError::Unknown) is the one to look for: it may have happened.
    pub async fn commit(self) -> Result<(), Error> {
        self.end().await.into_result()
    }

    /// As [`commit`](Self::commit), with the outcome as a value. An error of the server is the source of the stop in
    /// it.
    pub async fn commit_outcome(mut self) -> CommitOutcome {
        let bounds = Bounds::here().or(&self.connection().cx);
        match self.end().await {
            Committed::Yes => CommitOutcome::Committed,
            Committed::Stopped(stopped) => CommitOutcome::NotCommitted(stopped),
            Committed::Unknown(unknown) => CommitOutcome::Unknown(unknown),
            Committed::Refused(error) => {
                CommitOutcome::NotCommitted(commit::refused(&bounds, error))
            }
        }
    }

    async fn end(mut self) -> Committed {
        match &mut self.0 {
            Kind::Whole(connection) => {
                let bounds = Bounds::here().or(&connection.cx);
                let resolvable = connection.shared.policy.resolvable;
                commit::commit(connection, &bounds, resolvable).await
            }
            Kind::Part { connection, owed } => {
                let release = postgres::release(connection.level);
                match connection.batch_execute(&release).await {
                    Ok(()) => {
                        *owed = None;
                        connection.level -= 1;
                        Committed::Yes
                    }
                    Err(error) => Committed::Refused(error),
                }
            }
        }
    }

    /// Commits a statement of its own. Its id is not read, which would be one more round trip for each.
    pub(super) async fn commit_statement(mut self, bounds: &Bounds) -> Result<(), Error> {
        commit::commit(self.connection(), bounds, false)
            .await
            .into_result()
    }

    /// Rolls back, also when the calling context has ended, within [`Policy::cleanup`](crate::data::Policy::cleanup).
    ///
    /// # Errors
    /// Those of a statement, for a savepoint. The whole always ends: if need be by closing the connection.
    pub async fn rollback(mut self) -> Result<(), Error> {
        match &mut self.0 {
            Kind::Whole(connection) => {
                if let Some(recovering) = connection.recovering.take()
                    && let Ok(live) = recovering.await
                {
                    connection.live = live;
                }
                if let Some(rolling_back) = connection.live.roll_back() {
                    let _ = rolling_back.await;
                }
                Ok(())
            }
            Kind::Part { connection, owed } => {
                connection.owe(owed.take());
                connection.batch_execute("").await
            }
        }
    }

    /// Whether the server has said that it cannot serialize this transaction, or that it was in a deadlock.
    pub(super) fn is_unserializable(&mut self) -> bool {
        self.connection().unserializable
    }

    /// Why it is over, if it was stopped.
    ///
    /// # Errors
    /// The stop.
    pub fn check(&mut self) -> Result<(), Stopped> {
        let connection = self.connection();
        if connection.recovering.is_none() && connection.live.parts().is_none() {
            return Err(connection.over_as_error());
        }
        Bounds::here().or(&connection.cx).check(Phase::Database)
    }
}

impl Connection {
    /// Begins a part that can be taken back by itself: a savepoint.
    ///
    /// # Errors
    /// As those of a statement.
    pub async fn begin(&mut self) -> Result<Transaction<'_>, Error> {
        let level = self.level + 1;
        self.batch_execute(&postgres::savepoint(level)).await?;
        self.level = level;
        let owed = Some(Owed {
            level,
            told: self.told,
        });
        Ok(Transaction(Kind::Part {
            connection: self,
            owed,
        }))
    }

    /// A savepoint is left without being kept.
    fn owe(&mut self, owed: Option<Owed>) {
        if let Some(owed) = owed {
            self.level = owed.level - 1;
            self.owed = Some(owed);
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Kind::Part { connection, owed } = &mut self.0 {
            connection.owe(owed.take());
        }
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transaction").field(&**self).finish()
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match &self.0 {
            Kind::Whole(connection) => connection,
            Kind::Part { connection, .. } => connection,
        }
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection()
    }
}
