//! [`RowStream`]: rows as they come.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio_postgres::Row;

use super::error::Error;
use crate::data::rows::{Out, Rows};

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

impl fmt::Debug for RowStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}
