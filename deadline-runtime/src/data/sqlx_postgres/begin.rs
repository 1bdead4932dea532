//! How a transaction begins.

use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::{Error, Executor as _, Postgres};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use super::connection::Connection;
use super::live::{Live, Parts};
use super::pool::Shared;
use super::statement::Statement;
use super::transaction::Transaction;
use crate::data::bounds::Bounds;
use crate::data::postgres::{Begin, Limits, Tag};
use crate::stop::Phase;

/// A slot, a connection, a transaction. Each step ends with the context; what was under way then goes on by itself and ends clean.
pub(super) async fn begin(
    shared: &Arc<Shared>,
    bounds: &Bounds,
    statement: &str,
) -> Result<Transaction<'static>, Error> {
    if !begins_a_transaction(statement) {
        return Err(Error::BeginFailed);
    }
    bounds.admit(shared.policy.begin_min)?;
    let slot = slot(shared, bounds).await?;
    let connecting = tokio::spawn(connect(shared.clone(), slot));
    let (connection, slot) = joined(bounds.run(Phase::Connect, connecting).await?)??;
    // The waiting has used some of what was left.
    let limit = bounds.admit(shared.policy.begin_min)?;
    let limits =
        limit.map(|limit| Limits::new(limit, shared.policy.lock_wait, shared.policy.cleanup));
    let tag = Tag::of(bounds.context());
    let sql = Begin {
        statement,
        tag: &tag,
        limits,
    }
    .sql();
    let parts = Parts {
        connection,
        slot,
        shared: shared.clone(),
        tag,
        busy: false,
        runtime: Handle::current(),
    };
    // A `BEGIN` that is dropped on its way leaves an open transaction in the pool. Only the handle is dropped here.
    let beginning: JoinHandle<_> = tokio::spawn(open(parts, sql));
    let live = joined(bounds.run(Phase::Database, beginning).await?)??;
    Ok(Transaction::new(Connection::new(
        live,
        shared.clone(),
        bounds.context().clone(),
        limits,
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
) -> Result<(PoolConnection<Postgres>, OwnedSemaphorePermit), Error> {
    match timeout(shared.policy.connect, shared.pool.acquire()).await {
        Ok(connected) => Ok((connected?, slot)),
        Err(_) => Err(Error::PoolTimedOut),
    }
}

async fn open(mut parts: Parts, sql: String) -> Result<Live, Error> {
    // However slow the answer, it is not waited for without end: with a limit or without.
    let within = parts.shared.policy.connect;
    let done = timeout(
        within,
        (&mut *parts.connection).execute(Statement::text(sql)),
    )
    .await;
    match done.unwrap_or(Err(Error::PoolTimedOut)) {
        Ok(_) => Ok(Live::new(parts)),
        Err(error) => {
            // Nothing was done that would be worth cleaning up.
            parts.close().await;
            Err(error)
        }
    }
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
