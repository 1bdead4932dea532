//! [`Pool::transaction`]: a transaction that is tried again when the server could not serialize it.

use sqlx::{Error, SqlSafeStr};

use super::connection::Connection;
use super::pool::Pool;
use crate::data::attempts::Attempts;
use crate::data::bounds::Bounds;

impl Pool {
    /// Runs `work` in a transaction and commits it; on an error it is rolled back.
    ///
    /// A serialization failure or a deadlock (`40001`, `40P01`) is tried again after a short random pause, for as
    /// long as an attempt like the longest so far fits into what is left, and at most
    /// [`Policy::attempts`](crate::data::Policy::attempts) times; then the last error is returned. A commit of
    /// unknown outcome is never repeated. `work` must not do anything that a rollback does not undo.
    ///
    /// # Errors
    /// That of `work`, of the begin or of the commit.
    ///
    /// ```no_run
    /// # use deadline_runtime::data::sqlx_postgres::Pool;
    /// # async fn pay(pool: &Pool) -> Result<(), sqlx::Error> {
    /// let left: i64 = pool
    ///     .transaction(async |tx| {
    ///         sqlx::query("UPDATE accounts SET cents = cents - 100 WHERE id = 1")
    ///             .execute(&mut *tx)
    ///             .await?;
    ///         sqlx::query_scalar("SELECT cents FROM accounts WHERE id = 1")
    ///             .fetch_one(&mut *tx)
    ///             .await
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
        self.transaction_with("BEGIN", work).await
    }

    /// As [`transaction`](Self::transaction), begun with a statement of your own.
    ///
    /// # Errors
    /// As there.
    pub async fn transaction_with<T, E>(
        &self,
        statement: impl SqlSafeStr,
        mut work: impl AsyncFnMut(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<Error>,
    {
        let statement = statement.into_sql_str();
        let bounds = Bounds::here();
        let mut attempts = Attempts::new(&self.policy());
        loop {
            attempts.begin();
            let mut tx = super::begin::begin(self.shared(), &bounds, statement.as_str()).await?;
            let (error, again) = match work(tx.connection()).await {
                Ok(value) => match tx.commit().await {
                    Ok(()) => return Ok(value),
                    Err(error) => {
                        let again = super::error::code(&error).is_some_and(|code| {
                            crate::data::postgres::is_serialization_failure(&code)
                        });
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
