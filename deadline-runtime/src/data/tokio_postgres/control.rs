//! [`Control`]: the connection by which transactions are cancelled and asked about.

use std::time::Duration;

use deadpool::managed::Manager as _;
use deadpool_postgres::ClientWrapper;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::error::Error;
use super::text;
use crate::data::postgres::{self, Tag};
use crate::data::{Resolution, TransactionId};

/// One connection beside the pool, which may be exhausted by the very statements that are to be cancelled. Opened when
/// it is first needed and again when it is lost, in the way in which the pool opens its own.
pub(super) struct Control {
    pool: deadpool_postgres::Pool,
    open: Mutex<Option<ClientWrapper>>,
}

impl Control {
    pub(super) fn new(pool: deadpool_postgres::Pool) -> Self {
        Self {
            pool,
            open: Mutex::default(),
        }
    }

    /// Cancels what the transaction is doing, and comes back when the server has signalled it: whatever is sent to that
    /// backend from then on cannot be met by it.
    ///
    /// (The driver's cancel token comes back before the signal is sent, so that it hits the next statement.)
    pub(super) async fn cancel(&self, tag: &Tag, within: Duration) -> Result<(), Error> {
        self.ask(&postgres::cancel(tag), within).await.map(drop)
    }

    /// Ends the connection that the transaction runs on.
    pub(super) async fn terminate(&self, tag: &Tag, within: Duration) -> Result<(), Error> {
        self.ask(&postgres::terminate(tag), within).await.map(drop)
    }

    /// Asks what became of a transaction, until that is decided or the time is over.
    pub(super) async fn resolve(
        &self,
        id: TransactionId,
        within: Duration,
    ) -> Result<Resolution, Error> {
        let mut pause = Duration::from_millis(5);
        let asked = timeout(within, async {
            loop {
                let status = self.ask(&postgres::resolve(id), within).await?;
                match status.as_deref() {
                    Some("committed") => return Ok(Resolution::Committed),
                    Some("aborted") => return Ok(Resolution::NotCommitted),
                    Some("in progress") => {}
                    _ => return Ok(Resolution::Unknown),
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(100));
            }
        });
        asked.await.unwrap_or(Ok(Resolution::Unknown))
    }

    pub(super) async fn close(&self) {
        self.open.lock().await.take();
    }

    /// The first column of the first row.
    async fn ask(&self, sql: &str, within: Duration) -> Result<Option<String>, Error> {
        let asked = timeout(within, async {
            let mut open = self.open.lock().await;
            // Taken out while in use: if this is given up, the connection is closed instead of being used again with an
            // answer outstanding. The server may have closed one that was idle, so there is a second try.
            if let Some(connection) = open.take()
                && let Ok(answer) = answer(&connection, sql).await
            {
                *open = Some(connection);
                return Ok(answer);
            }
            let connection = self.connect().await?;
            let answer = answer(&connection, sql).await?;
            *open = Some(connection);
            Ok(answer)
        });
        asked.await.unwrap_or(Err(Error::out_of_time()))
    }

    async fn connect(&self) -> Result<ClientWrapper, Error> {
        let manager = self.pool.manager();
        let mut connection = manager.create().await?;
        // It is none of the pool's.
        manager.detach(&mut connection);
        let name = "SET application_name = 'deadline control'";
        connection.batch_execute(name).await?;
        Ok(connection)
    }
}

async fn answer(
    connection: &ClientWrapper,
    sql: &str,
) -> Result<Option<String>, tokio_postgres::Error> {
    let row = text::first(connection, sql).await?;
    Ok(row.and_then(|row| text::column(&row).map(str::to_owned)))
}
