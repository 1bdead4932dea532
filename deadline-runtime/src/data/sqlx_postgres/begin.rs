//! How a transaction begins.

use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;
use sqlx::{Error, Executor as _, Postgres, Row as _};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, OwnedSemaphorePermit};
use tokio::task::JoinError;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::connection::Connection;
use super::live::{Live, Parts};
use super::pool::Shared;
use super::statement::Statement;
use super::transaction::Transaction;
use crate::data::bounds::Bounds;
use crate::data::postgres::{Begin, Ceilings, Limits, Tag};
use crate::stop::Phase;
use crate::time::Deadline;

/// A slot, a connection, a transaction. Each step ends with the context; what was under way then goes on by itself
/// and ends clean.
pub(super) async fn begin(
    shared: &Arc<Shared>,
    bounds: &Bounds,
    statement: &str,
) -> Result<Transaction<'static>, Error> {
    if !begins_a_transaction(statement) {
        return Err(Error::BeginFailed);
    }
    bounds.admit(shared.policy.begin_min)?;
    // Bounded by our own figure where our own limits hold, and by sqlx's otherwise.
    let patience = if bounds.enforced() {
        shared.policy.connect
    } else {
        shared.pool.options().get_acquire_timeout()
    };
    let slot = slot(shared, bounds).await?;
    let connecting = tokio::spawn(connect(shared.clone(), slot, patience).in_current_span());
    let (connection, slot) = joined(bounds.run(Phase::Connect, connecting).await?)??;
    // A `BEGIN` that is dropped on its way leaves an open transaction in the pool. Only the handle is dropped here.
    let opening = Opening {
        parts: Parts {
            connection,
            slot,
            shared: shared.clone(),
            tag: Tag::of(bounds.context()),
            busy: false,
            runtime: Handle::current(),
        },
        bounds: bounds.clone(),
        statement: statement.to_owned(),
        patience,
    };
    let opened = tokio::spawn(opening.open().in_current_span());
    let opened = joined(bounds.run(Phase::Database, opened).await?)??;
    Ok(Transaction::new(Connection::new(
        opened,
        shared.clone(),
        bounds.context().clone(),
    )))
}

/// Waits for a slot: by leaving one leaves the queue.
async fn slot(shared: &Arc<Shared>, bounds: &Bounds) -> Result<OwnedSemaphorePermit, Error> {
    let patience = shared.pool.options().get_acquire_timeout();
    let waiting = timeout(patience, shared.slots.clone().acquire_owned());
    match bounds.run(Phase::Pool, waiting).await? {
        Ok(Ok(slot)) => Ok(slot),
        Ok(Err(_)) => Err(Error::PoolClosed),
        Err(_) => Err(Error::PoolTimedOut),
    }
}

/// A connection survives the one that waited for it: it is then in the pool for the next one, instead of being built and
/// thrown away over and over under pressure.
async fn connect(
    shared: Arc<Shared>,
    slot: OwnedSemaphorePermit,
    patience: Duration,
) -> Result<(PoolConnection<Postgres>, OwnedSemaphorePermit), Error> {
    match timeout(patience, shared.pool.acquire()).await {
        Ok(connected) => Ok((connected?, slot)),
        Err(_) => Err(Error::PoolTimedOut),
    }
}

/// A connection on which a transaction is about to be opened.
struct Opening {
    parts: Parts,
    bounds: Bounds,
    statement: String,
    patience: Duration,
}

/// One on which it is open.
pub(super) struct Opened {
    pub(super) live: Live,
    pub(super) limits: Option<Limits>,
    /// When the server had answered: it has begun at some time before that.
    pub(super) began: Deadline,
}

impl Opening {
    async fn open(mut self) -> Result<Opened, Error> {
        // However slow the answers, they are not waited for without end: with a limit or without.
        match timeout(self.patience, self.begin())
            .await
            .unwrap_or(Err(Error::PoolTimedOut))
        {
            Ok(limits) => Ok(Opened {
                live: Live::new(self.parts),
                limits,
                began: Deadline::now(),
            }),
            // Nothing was sent, and the connection is as it was.
            Err(error) if !self.parts.busy => Err(error),
            Err(error) => {
                // Nothing was done that would be worth cleaning up.
                self.parts.close().await;
                Err(error)
            }
        }
    }

    async fn begin(&mut self) -> Result<Option<Limits>, Error> {
        let parts = &mut self.parts;
        let policy = parts.shared.policy;
        let ceilings = if self.bounds.enforced() {
            parts.busy = true;
            let ceilings = ceilings(&parts.shared.ceilings, &mut parts.connection).await?;
            parts.busy = false;
            ceilings
        } else {
            Ceilings::default()
        };
        // The waiting has used some of what was left.
        let limit = self.bounds.admit(policy.begin_min)?;
        let limits =
            limit.map(|limit| Limits::new(limit, self.bounds.request_left(), &policy, ceilings));
        let begin = Begin {
            statement: &self.statement,
            tag: &parts.tag,
            limits,
        };
        parts.busy = true;
        (&mut *parts.connection)
            .execute(Statement::text(begin.sql()))
            .await?;
        parts.busy = false;
        Ok(limits)
    }
}

/// One round trip, for the first transaction of a pool.
async fn ceilings(
    known: &OnceCell<Ceilings>,
    connection: &mut PgConnection,
) -> Result<Ceilings, Error> {
    let asked = known.get_or_try_init(async || {
        let mut ceilings = Ceilings::default();
        let sql = Statement::text(Ceilings::SQL.to_owned());
        for row in connection.fetch_all(sql).await? {
            ceilings.take(row.try_get_unchecked(0)?, row.try_get_unchecked(1)?);
        }
        Ok(ceilings)
    });
    asked.await.copied()
}

/// Anything else would leave the statements that follow without a transaction, and limits that silently do nothing.
fn begins_a_transaction(statement: &str) -> bool {
    let statement = statement.trim().trim_end_matches(';');
    let mut words = statement.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let begins = first.eq_ignore_ascii_case("BEGIN")
        || first.eq_ignore_ascii_case("START")
            && words
                .next()
                .is_some_and(|second| second.eq_ignore_ascii_case("TRANSACTION"));
    begins && !statement.contains(';')
}

fn joined<T>(joined: Result<T, JoinError>) -> Result<T, Error> {
    // The runtime is shutting down.
    joined.map_err(|_| Error::WorkerCrashed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_transaction_begins_one() {
        for yes in [
            "BEGIN",
            " begin isolation level serializable ;",
            "START TRANSACTION READ ONLY",
        ] {
            assert!(begins_a_transaction(yes), "{yes}");
        }
        for no in [
            "",
            "SELECT 1",
            "START",
            "BEGIN; COMMIT",
            "BEGINX",
            "-- BEGIN",
        ] {
            assert!(!begins_a_transaction(no), "{no}");
        }
    }
}
