//! [`RowStream`]: rows as they come.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, ToStatement};

use super::connection::{Connection, Using};
use super::error::Error;
use crate::data::bounds::Bounds;
use crate::data::rows::{Out, Rows, next};
use crate::stop::Phase;
use crate::time::Deadline;

/// The rows of a statement, each of them within the deadline: in place of [`tokio_postgres::RowStream`].
///
/// The statement is sent when the stream is first polled.
#[must_use = "a stream does nothing until it is polled"]
pub struct RowStream<'a>(Rows<'a, Row, Error>);

impl<'a> RowStream<'a> {
    pub(super) fn new<F>(body: impl FnOnce(Out<Row>) -> F) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'a,
    {
        Self(Rows::new(body))
    }
}

impl Stream for RowStream<'_> {
    type Item = Result<Row, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

impl Connection {
    /// Row by row, as [`tokio_postgres::Client::query_raw`]. Rows that are left before their end are thrown away, and
    /// the transaction goes on.
    ///
    /// # Errors
    /// As [`query`](Self::query), as the last item.
    pub fn query_stream<'a, T>(
        &'a mut self,
        statement: &'a T,
        params: &'a [&'a (dyn ToSql + Sync)],
    ) -> RowStream<'a>
    where
        T: ?Sized + ToStatement + Sync,
    {
        let bounds = Bounds::here();
        RowStream::new(move |out| async move {
            let bounds = bounds.polled().or(&self.cx);
            self.each(&bounds, statement, params, &out).await
        })
    }

    /// Executes a statement and hands over its rows.
    pub(super) async fn each<T>(
        &mut self,
        bounds: &Bounds,
        statement: &T,
        params: &[&(dyn ToSql + Sync)],
        out: &Out<Row>,
    ) -> Result<(), Error>
    where
        T: ?Sized + ToStatement + Sync,
    {
        let client = self.ready(bounds).await?;
        let sent = Deadline::now();
        let rows = client.query_raw(statement, params.iter().copied());
        let mut rows = Box::pin(self.drive(bounds, true, rows).await?);
        let mut using = Using {
            connection: self,
            bounds,
            done: false,
        };
        let end = loop {
            // More is to come, whoever reads it.
            if let Some(parts) = using.connection.live.parts() {
                parts.busy = true;
            }
            match bounds.run(Phase::Database, next(&mut rows)).await {
                Ok(Some(Ok(row))) => out.put(row).await,
                Ok(Some(Err(error))) => break Ok(Err(error)),
                Ok(None) => break Ok(Ok(())),
                Err(stopped) => break Err(stopped),
            }
        };
        using.done = true;
        let connection = &mut *using.connection;
        drop(rows);
        match end {
            Ok(answer) => connection.answered(bounds, sent, answer),
            Err(stopped) => {
                connection.stopped(&stopped);
                Err(stopped.into())
            }
        }
    }
}

impl fmt::Debug for RowStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}
