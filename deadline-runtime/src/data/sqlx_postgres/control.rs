//! [`Control`]: the connection by which transactions are cancelled and asked about.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{ConnectOptions as _, Connection as _, Error, Executor as _, Row as _};
use tokio::sync::Mutex;

use super::statement::Statement;
use crate::data::postgres::{self, Tag};
use crate::data::{Resolution, TransactionId};

/// One connection beside the pool, which may be exhausted by the very statements that are to be cancelled. Opened when it
/// is first needed and again when it is lost.
pub(super) struct Control {
    pool: PgPool,
    open: Mutex<Option<PgConnection>>,
}

impl Control {
    pub(super) fn new(pool: PgPool) -> Self {
        Self {
            pool,
            open: Mutex::default(),
        }
    }

    /// Cancels what the transaction is doing, and comes back when the server has signalled it: whatever is sent to that
    /// backend from then on cannot be met by it.
    ///
    /// (The protocol's own cancel request is answered before the signal is sent, so that it hits the next statement.)
    pub(super) async fn cancel(&self, tag: &Tag, within: Duration) -> Result<(), Error> {
        self.ask(postgres::cancel(tag), within).await.map(drop)
    }

    /// Ends the connection that the transaction runs on.
    pub(super) async fn terminate(&self, tag: &Tag, within: Duration) -> Result<(), Error> {
        self.ask(postgres::terminate(tag), within).await.map(drop)
    }

    /// Asks what became of a transaction, until that is decided or the time is over.
    pub(super) async fn resolve(
        &self,
        id: TransactionId,
        within: Duration,
    ) -> Result<Resolution, Error> {
        let mut pause = Duration::from_millis(5);
        let asked = tokio::time::timeout(within, async {
            loop {
                let status = self.ask(postgres::resolve(id), within).await?;
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
        if let Some(connection) = self.open.lock().await.take() {
            let _ = connection.close().await;
        }
    }

    /// The first column of the first row.
    async fn ask(&self, sql: String, within: Duration) -> Result<Option<String>, Error> {
        let asked = tokio::time::timeout(within, async {
            let mut open = self.open.lock().await;
            // Taken out while in use: if this is given up, the connection is closed instead of being used again with an
            // answer outstanding. The server may have closed one that was idle, so there is a second try.
            if let Some(mut connection) = open.take()
                && let Ok(answer) = answer(&mut connection, sql.clone()).await
            {
                *open = Some(connection);
                return Ok(answer);
            }
            let mut connection = self.connect().await?;
            let answer = answer(&mut connection, sql).await?;
            *open = Some(connection);
            Ok(answer)
        });
        asked.await.unwrap_or(Err(Error::PoolTimedOut))
    }

    async fn connect(&self) -> Result<PgConnection, Error> {
        let options = self.pool.connect_options();
        let options = (*options).clone().application_name("deadline control");
        options.disable_statement_logging().connect().await
    }
}

async fn answer(connection: &mut PgConnection, sql: String) -> Result<Option<String>, Error> {
    let row = connection.fetch_optional(Statement::text(sql)).await?;
    Ok(row.and_then(|row| row.try_get_unchecked::<Option<String>, _>(0).ok().flatten()))
}
