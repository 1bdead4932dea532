//! How a transaction is committed, and how its outcome is known.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures_core::Stream as _;
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;
use tracing::Instrument as _;

use super::connection::Connection;
use super::error::{Error, NoAnswer, is_an_answer};
use super::live::Parts;
use super::text::{column, is_echo};
use crate::data::bounds::{Bounds, Verdict};
use crate::data::limit::ServerLimit;
use crate::data::postgres;
use crate::data::{CommitOutcome, Resolution, TransactionId, UnknownCommit};
use crate::scope::TARGET;
use crate::stop::{Details, Phase, Stopped};
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
        Some(brief) => Stopped::new(Details::of(brief)).with_source(error),
        None => bounds
            .judge(Verdict::Theirs, Phase::Commit)
            .with_source(error),
    }
}

/// What a statement before the commit has failed with.
fn not_begun(bounds: &Bounds, error: Error) -> Committed {
    match error {
        Error::Stopped(stopped) => Committed::Stopped(stopped.in_phase(Phase::Commit)),
        // A transaction that has no beginning: what it was to do may have happened.
        Error::Commit(crate::data::CommitError::Unknown(unknown)) => Committed::Unknown(unknown),
        error if Stopped::find(&error).is_some() => {
            Committed::Stopped(refused(bounds, error).in_phase(Phase::Commit))
        }
        error => Committed::Refused(error),
    }
}

/// From the step that contains the `COMMIT` on it is never dropped; until that is sent nothing is committed, whatever happens.
///
/// A commit that is to be resolvable takes two steps, because the id has to be here before the second one is sent.
pub(super) async fn commit(
    connection: &mut Connection,
    bounds: &Bounds,
    resolvable: bool,
) -> Committed {
    let policy = connection.shared.policy;
    if let Err(over) = connection.settle(bounds).await {
        return not_begun(bounds, over);
    }
    if let Err(refused) = admit(connection, bounds, policy.commit_min) {
        return refused;
    }
    let Some(began) = connection.began else {
        // Nothing was sent, so there is nothing to be committed.
        connection.live.roll_back();
        return Committed::Yes;
    };
    let mut transaction = None;
    if resolvable {
        transaction = match seal(connection, bounds).await {
            Ok(transaction) => transaction,
            Err(not_committed) => return not_committed,
        };
    }
    // The first step has used some of what was left.
    let limit = match admit(connection, bounds, policy.commit_min) {
        Ok(limit) => limit,
        Err(refused) => return refused,
    };
    let deadline = bounds.deadline();
    // Counts from a moment that was not before the server's: it ends no later there than here.
    let guard = deadline.and_then(|deadline| ServerLimit::of(deadline.since(began)));
    let mut sql = String::new();
    if !resolvable {
        sql = connection.preface(bounds, limit).0;
        sql.push_str(&postgres::seal(false));
    }
    let Some(parts) = connection.live.take() else {
        return Committed::Stopped(connection.over_as_error());
    };
    sql.push_str(&postgres::commit(guard, &parts.tag));
    // After the deadline its guard refuses it, so then the answer is not far. Without one it is not waited for without end.
    let patience = deadline.map_or(policy.connect, Deadline::remaining);
    let sending = Sending {
        parts,
        transaction,
        statements: sql.matches(';').count() + 1,
        sql,
        sent: Deadline::now(),
        limit: limit.and_then(|left| connection.limits(bounds, left).ours()),
        patience: patience.saturating_add(policy.cleanup),
        bounds: bounds.clone(),
    };
    let (answer, answered) = tokio::sync::oneshot::channel();
    let commit = async move {
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
    };
    tokio::spawn(commit.in_current_span());
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

/// Refused below the minimum: the transaction is then over.
fn admit(
    connection: &mut Connection,
    bounds: &Bounds,
    least: Duration,
) -> Result<Option<ServerLimit>, Committed> {
    bounds.admit(least).map_err(|refused| {
        connection.abandon(&refused);
        Committed::Stopped(refused.in_phase(Phase::Commit))
    })
}

/// Everything that may take its time, still as a statement: it can be cancelled.
async fn seal(
    connection: &mut Connection,
    bounds: &Bounds,
) -> Result<Option<TransactionId>, Committed> {
    match sealed(connection, bounds).await {
        Ok(messages) => {
            let id = messages.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => column(row)?.parse().ok(),
                _ => None,
            });
            Ok(id.map(TransactionId))
        }
        Err(error) => {
            connection.live.roll_back();
            Err(not_begun(bounds, error))
        }
    }
}

async fn sealed(
    connection: &mut Connection,
    bounds: &Bounds,
) -> Result<Vec<SimpleQueryMessage>, Error> {
    let seal = postgres::seal(true);
    let client = connection.ready(bounds).await?;
    connection
        .drive(bounds, true, client.simple_query(&seal))
        .await
}

/// A commit on its way, in a task of its own.
struct Sending {
    parts: Parts,
    transaction: Option<TransactionId>,
    sql: String,
    /// How many there are in it; the last one is the commit.
    statements: usize,
    sent: Deadline,
    limit: Option<ServerLimit>,
    patience: Duration,
    bounds: Bounds,
}

impl Sending {
    async fn send(mut self) -> Committed {
        let mut answered = 0;
        let sent = timeout(self.patience, self.answers(&mut answered)).await;
        // Whatever comes after the answer of the commit, a shutdown among it, the commit has happened.
        if answered == self.statements {
            if matches!(sent, Ok(Ok(()))) {
                self.parts.hand_back();
            } else {
                tokio::spawn(self.parts.close());
            }
            return Committed::Yes;
        }
        let error = match sent {
            Ok(Err(error)) if is_an_answer(&error) => error,
            Ok(Err(error)) => return self.find_out(Error::from(error)).await,
            Ok(Ok(())) => return self.find_out(NoAnswer("the commit was not answered")).await,
            Err(late) => return self.find_out(late).await,
        };
        let (bounds, told) = (self.bounds, self.limit.map(|limit| (self.sent, limit)));
        self.parts.busy = false;
        tokio::spawn(self.parts.clean_up());
        let verdict = match error.code().map(|code| code.code()) {
            // The division in the guard.
            Some("22012") => Verdict::Limit,
            Some(code) if postgres::ends_by_limit_or_cancel(code) => bounds.verdict(told),
            _ => return Committed::Refused(error.into()),
        };
        Committed::Stopped(bounds.judge(verdict, Phase::Commit).with_source(error))
    }

    /// Counts the statements that were answered, once it is sure that it is these.
    async fn answers(&mut self, answered: &mut usize) -> Result<(), tokio_postgres::Error> {
        self.parts.busy = true;
        let mut items = pin!(self.parts.link.simple_query_raw(&self.sql).await?);
        let (mut count, mut ours) = (0, false);
        while let Some(item) = poll_fn(|cx| items.as_mut().poll_next(cx))
            .await
            .transpose()?
        {
            match item {
                SimpleQueryMessage::CommandComplete(_) => count += 1,
                SimpleQueryMessage::Row(row) => ours |= is_echo(&row, &self.parts.tag),
                _ => {}
            }
            if ours {
                *answered = count;
            }
        }
        Ok(())
    }

    /// The answer was lost. The server still knows, and is made to decide first: a commit that waits there could happen at any time.
    async fn find_out(
        self,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Committed {
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
