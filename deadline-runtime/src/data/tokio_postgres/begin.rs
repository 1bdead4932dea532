//! How a transaction begins: with a slot and a connection. The `BEGIN` itself goes with the first statement.

use std::sync::Arc;

use deadpool_postgres::{PoolError, TimeoutType};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, OwnedSemaphorePermit};
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_postgres::Client;
use tracing::Instrument as _;

use super::connection::Connection;
use super::error::Error;
use super::link::Link;
use super::live::{Live, Parts};
use super::options::TransactionOptions;
use super::pool::Shared;
use super::text::{self, column};
use super::transaction::Transaction;
use crate::data::bounds::Bounds;
use crate::data::postgres::{Ceilings, Tag};
use crate::stop::Phase;

/// A slot, then a connection. Each step ends with the context; a connect that was under way goes on by itself.
pub(super) async fn begin(
    shared: &Arc<Shared>,
    bounds: &Bounds,
    options: TransactionOptions,
) -> Result<Transaction<'static>, Error> {
    bounds.admit(shared.policy.begin_min)?;
    let slot = slot(shared, bounds).await?;
    let connecting = connect(shared.clone(), slot, bounds.clone());
    let connecting = tokio::spawn(connecting.in_current_span());
    let live = joined(bounds.run(Phase::Connect, connecting).await?)??;
    // The waiting has used some of what was left.
    bounds.admit(shared.policy.begin_min)?;
    Ok(Transaction::new(Connection::new(
        live,
        shared.clone(),
        bounds.context().clone(),
        options,
    )))
}

/// Waits for a slot: by leaving one leaves the queue.
async fn slot(shared: &Arc<Shared>, bounds: &Bounds) -> Result<OwnedSemaphorePermit, Error> {
    let waiting = shared.slots.clone().acquire_owned();
    let waiting = async {
        match shared.pool.timeouts().wait {
            Some(patience) => timeout(patience, waiting).await,
            None => Ok(waiting.await),
        }
    };
    match bounds.run(Phase::Pool, waiting).await? {
        Ok(Ok(slot)) => Ok(slot),
        Ok(Err(_)) => Err(Error::Pool(PoolError::Closed)),
        Err(_) => Err(Error::Pool(PoolError::Timeout(TimeoutType::Wait))),
    }
}

/// A connection survives the one that waited for it: it is then in the pool for the next one, instead of being built
/// and thrown away over and over under pressure.
async fn connect(
    shared: Arc<Shared>,
    slot: OwnedSemaphorePermit,
    bounds: Bounds,
) -> Result<Live, Error> {
    let connecting = async {
        let link = Link::new(shared.pool.get().await?);
        if bounds.enforced() {
            ceilings(&shared.ceilings, &link).await?;
        }
        Ok(link)
    };
    // Bounded by our own figure where our own limits hold, and by deadpool's otherwise.
    let link = if bounds.enforced() {
        let connected = timeout(shared.policy.connect, connecting).await;
        connected.unwrap_or(Err(Error::out_of_time()))?
    } else {
        connecting.await?
    };
    Ok(Live::new(Parts {
        link: Arc::new(link),
        slot,
        tag: Tag::of(bounds.context()),
        shared,
        open: false,
        busy: false,
        runtime: Handle::current(),
    }))
}

/// One round trip, for the first transaction of a pool.
async fn ceilings(known: &OnceCell<Ceilings>, client: &Client) -> Result<(), Error> {
    let asked = known.get_or_try_init(async || {
        let mut ceilings = Ceilings::default();
        for row in text::rows(client, Ceilings::SQL).await? {
            if let (Some(name), Ok(Some(setting))) = (column(&row), row.try_get(1)) {
                ceilings.take(name, setting);
            }
        }
        Ok::<_, Error>(ceilings)
    });
    asked.await.map(drop)
}

fn joined<T>(joined: Result<T, JoinError>) -> Result<T, Error> {
    // The runtime is shutting down.
    joined.map_err(|_| Error::Pool(PoolError::Closed))
}
