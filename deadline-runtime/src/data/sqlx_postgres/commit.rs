//! How a transaction is committed, and how its outcome is known.

use std::time::Duration;

use sqlx::{Either, Error, Executor as _, Row as _};
use tokio::time::timeout;

use super::connection::{Connection, each};
use super::error::{code, is_an_answer};
use super::live::Parts;
use super::rows::{Sink, next};
use super::statement::Statement;
use crate::data::bounds::{Bounds, Verdict};
use crate::data::limit::ServerLimit;
use crate::data::postgres::{self, Limits};
use crate::data::{CommitOutcome, Resolution, TransactionId, UnknownCommit};
use crate::scope::TARGET;
use crate::stop::{Phase, Stopped};
use crate::time::Deadline;

/// What became of it.
pub(super) enum Committed {
    Yes,
    /// The server refused it with this error.
    Refused(Error),
    /// We did not send it, or the server's clock refused it.
    Stopped(Stopped),
    Unknown(UnknownCommit),
}

impl Committed {
    pub(super) fn into_result(self) -> Result<(), Error> {
        let outcome = match self {
            Self::Yes => return Ok(()),
            Self::Refused(error) => return Err(error),
            Self::Stopped(stopped) => CommitOutcome::NotCommitted(stopped),
            Self::Unknown(unknown) => CommitOutcome::Unknown(unknown),
        };
        outcome.into_result().map_err(Error::from)
    }
}

/// A refusal by the server as a stop. One that carries a stop already is that stop.
pub(super) fn refused(bounds: &Bounds, error: Error) -> Stopped {
    match Stopped::find(&error).map(Stopped::brief) {
        Some(brief) => Stopped::new(crate::stop::Details::of(brief)).with_source(error),
        None => bounds
            .judge(Verdict::Theirs, Phase::Commit)
            .with_source(error),
    }
}

/// Two steps. Until the second is sent nothing is committed, whatever happens; from then on it is never dropped.
pub(super) async fn commit(
    connection: &mut Connection,
    bounds: &Bounds,
    resolvable: bool,
) -> Committed {
    let policy = connection.shared.policy;
    let transaction = match prepare(connection, bounds, resolvable).await {
        Ok(transaction) => transaction,
        Err(not_committed) => return not_committed,
    };
    // The first step has used some of what was left.
    if let Err(refused) = bounds.admit(policy.commit_min) {
        connection.abandon(&refused);
        return Committed::Stopped(refused.in_phase(Phase::Commit));
    }
    let deadline = bounds.deadline();
    let within = deadline.map(|deadline| deadline.since(connection.began));
    let guard = within.and_then(ServerLimit::of);
    let Some(parts) = connection.live.take() else {
        return Committed::Stopped(connection.over_as_error());
    };
    // After the deadline its guard refuses it, so then the answer is not far. Without one it is not waited for without end.
    let patience = deadline.map_or(policy.connect, Deadline::remaining);
    let sending = Sending {
        parts,
        transaction,
        sql: postgres::commit(guard),
        patience: patience.saturating_add(policy.cleanup),
        bounds: bounds.clone(),
    };
    let (answer, answered) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let tag = sending.parts.tag.clone();
        if let Err(unheard) = answer.send(sending.send().await) {
            // Whoever asked has left; somebody may want to know all the same.
            let outcome = match unheard {
                Committed::Yes => "committed",
                Committed::Refused(_) | Committed::Stopped(_) => "not committed",
                Committed::Unknown(_) => "unknown",
            };
            tracing::info!(target: TARGET, transaction = %tag, outcome, "a commit ended after its caller had left");
        }
    });
    match bounds.run(Phase::Commit, answered).await {
        Ok(Ok(committed)) => committed,
        Ok(Err(_)) => Committed::Unknown(UnknownCommit {
            // The runtime is shutting down.
            stopped: bounds.judge(Verdict::Theirs, Phase::Commit),
            transaction,
        }),
        Err(stopped) => Committed::Unknown(UnknownCommit {
            stopped,
            transaction,
        }),
    }
}

/// Everything that may take its time, still as a statement: it can be cancelled.
async fn prepare(
    connection: &mut Connection,
    bounds: &Bounds,
    resolvable: bool,
) -> Result<Option<TransactionId>, Committed> {
    if connection.live.parts().is_none() {
        return Err(Committed::Stopped(connection.over_as_error()));
    }
    let policy = connection.shared.policy;
    let limit = bounds.admit(policy.commit_min).map_err(|refused| {
        connection.abandon(&refused);
        Committed::Stopped(refused.in_phase(Phase::Commit))
    })?;
    let limits = limit.map(|limit| Limits::new(limit, policy.lock_wait, policy.cleanup));
    let mut id = None;
    let seal = Statement::text(postgres::seal(limits.as_ref(), resolvable));
    match each(connection, bounds, seal, Sink::First(&mut id)).await {
        Ok(()) => {
            let id = id.and_then(|row| row.try_get_unchecked::<Option<String>, _>(0).ok()?);
            Ok(id.and_then(|id| id.parse().ok()).map(TransactionId))
        }
        Err(error) => {
            connection.live.roll_back();
            Err(match Stopped::find(&error).map(Stopped::brief) {
                Some(_) => Committed::Stopped(refused(bounds, error).in_phase(Phase::Commit)),
                None => Committed::Refused(error),
            })
        }
    }
}

/// A commit on its way, in a task of its own.
struct Sending {
    parts: Parts,
    transaction: Option<TransactionId>,
    sql: String,
    patience: Duration,
    bounds: Bounds,
}

impl Sending {
    async fn send(mut self) -> Committed {
        let sent = timeout(self.patience, self.answer()).await;
        match sent.unwrap_or(Err(Error::PoolTimedOut)) {
            Ok(true) => {
                let Parts {
                    connection, slot, ..
                } = self.parts;
                drop(connection);
                drop(slot);
                Committed::Yes
            }
            Ok(false) => {
                self.find_out(Error::Protocol("COMMIT was not answered".into()))
                    .await
            }
            Err(error) if is_an_answer(&error) => {
                tokio::spawn(self.parts.clean_up());
                // The division in the guard, or the failure of an earlier statement.
                if code(&error).as_deref() == Some("22012") {
                    let stopped = self.bounds.judge(Verdict::Limit, Phase::Commit);
                    return Committed::Stopped(stopped.with_source(error));
                }
                Committed::Refused(error)
            }
            Err(error) => self.find_out(error).await,
        }
    }

    /// Whether the guard and the commit were both answered.
    async fn answer(&mut self) -> Result<bool, Error> {
        let sql = std::mem::take(&mut self.sql);
        self.parts.busy = true;
        let mut items = (&mut *self.parts.connection).fetch_many(Statement::text(sql));
        let mut complete = 0;
        while let Some(item) = next(&mut items).await {
            if matches!(item?, Either::Left(_)) {
                complete += 1;
            }
        }
        Ok(complete == 2)
    }

    /// The answer was lost. The server still knows, and is made to decide first: a commit that waits there could happen at any time.
    async fn find_out(self, error: Error) -> Committed {
        let Self {
            parts,
            transaction,
            bounds,
            ..
        } = self;
        let shared = parts.shared.clone();
        parts.close().await;
        let resolved = match transaction {
            Some(id) => shared.control.resolve(id, shared.policy.cleanup).await,
            None => Ok(Resolution::Unknown),
        };
        let verdict = bounds.verdict(None);
        let stopped = bounds.judge(verdict, Phase::Commit).with_source(error);
        match resolved {
            Ok(Resolution::Committed) => Committed::Yes,
            Ok(Resolution::NotCommitted) => Committed::Stopped(stopped),
            Ok(Resolution::Unknown) | Err(_) => Committed::Unknown(UnknownCommit {
                stopped,
                transaction,
            }),
        }
    }
}
