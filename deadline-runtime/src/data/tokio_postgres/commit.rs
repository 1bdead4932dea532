//! How a transaction is committed, and how its outcome is known.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures_core::Stream as _;
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;
use tracing::Instrument as _;

use super::connection::Connection;
use super::error::{Error, Failure, Fault, is_an_answer};
use super::live::Parts;
use super::text::{column, is_echo};
use crate::data::bounds::{Bounds, Verdict};
use crate::data::limit::ServerLimit;
use crate::data::postgres::{self, Answers, Refusal};
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

fn stopped(bounds: &Bounds, verdict: Verdict, source: impl Into<Failure>) -> Committed {
    let stopped = bounds.judge(verdict, Phase::Commit);
    Committed::Stopped(stopped.with_source(source))
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
    sent: Deadline,
    limit: Option<ServerLimit>,
    patience: Option<Duration>,
    bounds: Bounds,
}

impl Sending {
    async fn send(mut self) -> Committed {
        let mut answers = Answers::to(&self.sql);
        let end = match self.patience {
            Some(patience) => timeout(patience, self.read(&mut answers)).await,
            None => Ok(self.read(&mut answers).await),
        };
        // Whatever comes after the answer of the commit, a shutdown among it, the commit has happened.
        if answers.committed() {
            if matches!(end, Ok(Ok(()))) {
                self.parts.hand_back();
            } else {
                tokio::spawn(self.parts.close());
            }
            return Committed::Yes;
        }
        match end {
            Ok(Err(error)) if is_an_answer(&error) => self.refused(error, answers),
            Ok(Err(error)) => self.find_out(error).await,
            Ok(Ok(())) => self.find_out(Fault("the commit was not answered")).await,
            Err(late) => self.find_out(late).await,
        }
    }

    async fn read(&mut self, answers: &mut Answers) -> Result<(), tokio_postgres::Error> {
        self.parts.busy = true;
        let mut items = pin!(self.parts.link.simple_query_raw(&self.sql).await?);
        while let Some(item) = poll_fn(|cx| items.as_mut().poll_next(cx))
            .await
            .transpose()?
        {
            match item {
                SimpleQueryMessage::CommandComplete(_) => answers.through(),
                SimpleQueryMessage::Row(row) => answers.row(is_echo(&row, &self.parts.tag)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The server has answered with an error, and so it has not committed.
    fn refused(mut self, error: tokio_postgres::Error, answers: Answers) -> Committed {
        let told = self.limit.map(|limit| (self.sent, limit));
        self.parts.busy = false;
        tokio::spawn(self.parts.clean_up());
        let Some(code) = error.code().map(SqlState::code) else {
            return Committed::Refused(error.into());
        };
        let bounds = self.bounds;
        match answers.refusal(code) {
            Some(Refusal::Late) => stopped(&bounds, Verdict::Limit, error),
            Some(Refusal::Foreign) => stopped(&bounds, Verdict::Theirs, Fault(Refusal::FOREIGN)),
            Some(Refusal::Ended) => stopped(&bounds, bounds.verdict(told), error),
            None => Committed::Refused(error.into()),
        }
    }

    /// The answer was lost. The server still knows, and is made to decide first: a commit that waits there could
    /// happen at any time.
    async fn find_out(self, error: impl Into<Failure>) -> Committed {
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
