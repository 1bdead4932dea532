//! [`Pool::transaction`]: a transaction that is tried again when the server could not serialize it.

use tokio_postgres::error::SqlState;

use super::connection::Connection;
use super::error::Error;
use super::options::TransactionOptions;
use super::pool::Pool;
use crate::data::attempts::Attempts;
use crate::data::bounds::Bounds;
use crate::data::postgres::is_serialization_failure;

impl Pool {
    /// Runs `work` in a transaction and commits it; on an error it is rolled back.
    ///
    /// A serialization failure or a deadlock (`40001`, `40P01`) is tried again after a short random pause, for as long
    /// as an attempt like the longest so far fits into what is left, and at most
    /// [`Policy::attempts`](crate::data::Policy::attempts) times; then the last error is returned. A commit of unknown
    /// outcome is never repeated. `work` must not do anything that a rollback does not undo.
    ///
    /// # Errors
    /// That of `work`, of the begin or of the commit.
    ///
    /// ```no_run
    /// # use deadline_runtime::data::tokio_postgres::{Error, Pool};
    /// # async fn pay(pool: &Pool) -> Result<(), Error> {
    /// let left: i64 = pool
    ///     .transaction(async |tx| {
    ///         tx.execute("UPDATE accounts SET cents = cents - 100 WHERE id = 1", &[]).await?;
    ///         let row = tx.query_one("SELECT cents FROM accounts WHERE id = 1", &[]).await?;
    ///         Ok::<_, Error>(row.try_get(0)?)
    ///     })
    ///     .await?;
    /// # let _ = left; Ok(()) }
    /// ```
    pub async fn transaction<T, E>(
        &self,
        work: impl AsyncFnMut(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<Error>,
    {
        self.transaction_with(TransactionOptions::new(), work).await
    }

    /// As [`transaction`](Self::transaction), begun with an isolation level and the like.
    ///
    /// # Errors
    /// As there.
    pub async fn transaction_with<T, E>(
        &self,
        options: TransactionOptions,
        mut work: impl AsyncFnMut(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<Error>,
    {
        let bounds = Bounds::here();
        let mut attempts = Attempts::new(&self.policy());
        loop {
            attempts.begin();
            let mut tx = self.begin_in(&bounds, options).await?;
            let (error, again) = match work(tx.connection()).await {
                Ok(value) => match tx.commit().await {
                    Ok(()) => return Ok(value),
                    Err(error) => {
                        let code = error.code().map(SqlState::code);
                        let again = code.is_some_and(is_serialization_failure);
                        (E::from(error), again)
                    }
                },
                Err(error) => {
                    let again = tx.is_unserializable();
                    let _ = tx.rollback().await;
                    (error, again)
                }
            };
            if !again || !attempts.another(&bounds).await {
                return Err(error);
            }
        }
    }
}
