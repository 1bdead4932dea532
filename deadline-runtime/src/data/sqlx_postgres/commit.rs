//! How a transaction is committed, and how its outcome is known.

use std::time::Duration;

use sqlx::{Either, Error, Executor as _, Row as _};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::connection::{Connection, each};
use super::error::{code, is_an_answer};
use super::live::Parts;
use super::sink::Sink;
use super::statement::{Statement, is_echo};
use crate::data::bounds::{Bounds, Verdict};
use crate::data::limit::ServerLimit;
use crate::data::postgres::{self, Answers, Refusal};
use crate::data::rows::next;
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

/// From the step that contains the `COMMIT` on it is never dropped; until that is sent nothing is committed, whatever
/// happens.
///
/// A commit that is to be resolvable takes two steps, because the id has to be here before the second one is sent.
pub(super) async fn commit(
    connection: &mut Connection,
    bounds: &Bounds,
    resolvable: bool,
) -> Committed {
    let policy = connection.shared.policy;
    if let Err(over) = connection.settle(bounds).await {
        return Committed::Stopped(over);
    }
    let mut transaction = None;
    if resolvable {
        if let Err(refused) = admit(connection, bounds, policy.commit_min) {
            return refused;
        }
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
    // More than what is left, and so never too little for the server.
    let guard = deadline.and_then(|deadline| ServerLimit::of(deadline.since(connection.began)));
    let mut sql = String::new();
    if !resolvable {
        sql = connection.before(bounds, limit).text;
        sql.push_str(&postgres::seal(false));
    }
    let Some(parts) = connection.live.take() else {
        return Committed::Stopped(connection.over_as_error());
    };
    sql.push_str(&postgres::commit(guard, &parts.tag));
    // After the deadline its guard refuses it, so then the answer is not far. Without one it takes its time, as
    // without us.
    let patience = deadline.map(|deadline| deadline.remaining().saturating_add(policy.cleanup));
    let sending = Sending {
        parts,
        transaction,
        sql,
        sent: Deadline::now(),
        limit: limit.and_then(|left| connection.limits(bounds, left).ours()),
        patience,
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
    let mut id = None;
    let seal = Statement::text(postgres::seal(true));
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
    sent: Deadline,
    limit: Option<ServerLimit>,
    patience: Option<Duration>,
    bounds: Bounds,
}

impl Sending {
    async fn send(mut self) -> Committed {
        let mut answers = Answers::to(&self.sql);
        let end = match self.patience {
            Some(patience) => {
                let read = timeout(patience, self.read(&mut answers)).await;
                read.unwrap_or(Err(Error::PoolTimedOut))
            }
            None => self.read(&mut answers).await,
        };
        // Whatever comes after the answer of the commit, a shutdown among it, the commit has happened.
        if answers.committed() {
            if end.is_ok() {
                let Parts {
                    connection, slot, ..
                } = self.parts;
                drop(connection);
                drop(slot);
            } else {
                tokio::spawn(self.parts.close());
            }
            return Committed::Yes;
        }
        match end {
            Err(error) if is_an_answer(&error) => self.refused(error, answers),
            Err(error) => self.find_out(error).await,
            Ok(()) => {
                let error = Error::Protocol("the commit was not answered".into());
                self.find_out(error).await
            }
        }
    }

    async fn read(&mut self, answers: &mut Answers) -> Result<(), Error> {
        let sql = std::mem::take(&mut self.sql);
        self.parts.busy = true;
        let mut items = (&mut *self.parts.connection).fetch_many(Statement::text(sql));
        while let Some(item) = next(&mut items).await.transpose()? {
            match item {
                Either::Left(_) => answers.through(),
                Either::Right(row) => answers.row(is_echo(&row, &self.parts.tag)),
            }
        }
        Ok(())
    }

    /// The server has answered with an error, and so it has not committed.
    fn refused(self, error: Error, answers: Answers) -> Committed {
        let told = self.limit.map(|limit| (self.sent, limit));
        tokio::spawn(self.parts.clean_up());
        let Some(code) = code(&error) else {
            return Committed::Refused(error);
        };
        let (verdict, source) = match answers.refusal(&code) {
            Some(Refusal::Late) => (Verdict::Limit, error),
            Some(Refusal::Foreign) => (Verdict::Theirs, Error::Protocol(Refusal::FOREIGN.into())),
            Some(Refusal::Ended) => (self.bounds.verdict(told), error),
            None => return Committed::Refused(error),
        };
        let stopped = self.bounds.judge(verdict, Phase::Commit);
        Committed::Stopped(stopped.with_source(source))
    }

    /// The answer was lost. The server still knows, and is made to decide first: a commit that waits there could
    /// happen at any time.
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
