//! The statements of a [`Connection`]: the driver's methods.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement, ToStatement};

use super::connection::Connection;
use super::error::Error;
use crate::data::bounds::Bounds;

/// A statement: made from the driver's connection, bounded by the context that makes or polls it.
macro_rules! inside {
    ($self:ident, $executes:literal, |$client:ident| $statement:expr) => {{
        let bounds = Bounds::here();
        async move {
            let bounds = bounds.polled().or(&$self.cx);
            let $client = $self.ready(&bounds).await?;
            $self.drive(&bounds, $executes, $statement).await
        }
    }};
}

impl Connection {
    /// As [`tokio_postgres::Client::query`].
    ///
    /// # Errors
    /// [`Error::Stopped`] when the context has ended; the driver's own otherwise.
    pub fn query<T>(
        &mut self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        inside!(self, true, |client| client.query(statement, params))
    }

    /// As [`tokio_postgres::Client::query_one`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_one<T>(
        &mut self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<Row, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        inside!(self, true, |client| client.query_one(statement, params))
    }

    /// As [`tokio_postgres::Client::query_opt`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_opt<T>(
        &mut self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<Option<Row>, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        inside!(self, true, |client| client.query_opt(statement, params))
    }

    /// As [`tokio_postgres::Client::query_typed`]: one round trip for a text, which is not prepared beforehand.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_typed(
        &mut self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send {
        inside!(self, true, |client| client.query_typed(sql, params))
    }

    /// As [`tokio_postgres::Client::execute`]: the number of rows.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn execute<T>(
        &mut self,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
    ) -> impl Future<Output = Result<u64, Error>> + Send
    where
        T: ?Sized + ToStatement + Sync,
    {
        inside!(self, true, |client| client.execute(statement, params))
    }

    /// As [`tokio_postgres::Client::execute_typed`]: one round trip for a text, which is not prepared beforehand.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn execute_typed(
        &mut self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> impl Future<Output = Result<u64, Error>> + Send {
        inside!(self, true, |client| client.execute_typed(sql, params))
    }

    /// As [`tokio_postgres::Client::batch_execute`]: several statements in one text. None of them may begin or end a
    /// transaction.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn batch_execute(&mut self, sql: &str) -> impl Future<Output = Result<(), Error>> + Send {
        inside!(self, true, |client| client.batch_execute(sql))
    }

    /// As [`tokio_postgres::Client::simple_query`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn simple_query(
        &mut self,
        sql: &str,
    ) -> impl Future<Output = Result<Vec<SimpleQueryMessage>, Error>> + Send {
        inside!(self, true, |client| client.simple_query(sql))
    }

    /// As [`tokio_postgres::Client::prepare`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn prepare(&mut self, sql: &str) -> impl Future<Output = Result<Statement, Error>> + Send {
        inside!(self, false, |client| client.prepare(sql))
    }

    /// As [`tokio_postgres::Client::prepare_typed`].
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn prepare_typed(
        &mut self,
        sql: &str,
        types: &[Type],
    ) -> impl Future<Output = Result<Statement, Error>> + Send {
        inside!(self, false, |client| client.prepare_typed(sql, types))
    }

    /// As [`deadpool_postgres::ClientWrapper::prepare_cached`]: once on each connection of the pool. Only for texts of
    /// which there are few.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn prepare_cached(
        &mut self,
        sql: &str,
    ) -> impl Future<Output = Result<Statement, Error>> + Send {
        inside!(self, false, |client| client.prepare_cached(sql))
    }

    /// The driver's client below, inside the transaction, for what has no other way (`COPY`, row streams). What runs
    /// there has the limits that the server was last told and is not cut by us; it must neither begin nor end a
    /// transaction, nor change its `application_name`.
    ///
    /// # Errors
    /// When the transaction is over or cannot be begun.
    pub async fn client(&mut self) -> Result<&Client, Error> {
        let bounds = Bounds::here().or(&self.cx);
        let client = self.ready(&bounds).await?;
        // Begun, and told.
        if self.before.is_some() {
            let nothing = async { Ok(()) };
            self.drive(&bounds, false, nothing).await?;
        }
        drop(client);
        let over = self.over_as_error();
        match self.live.parts() {
            Some(parts) => {
                // Nobody tells us when it is done.
                parts.busy = true;
                Ok(&parts.link)
            }
            None => Err(over.into()),
        }
    }
}
