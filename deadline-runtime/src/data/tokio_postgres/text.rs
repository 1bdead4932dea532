//! Texts of our own, and what comes back for them.

use tokio_postgres::{Client, Error, SimpleQueryMessage, SimpleQueryRow};

use crate::data::postgres::Tag;

/// The rows of a simple query.
pub(super) async fn rows(client: &Client, sql: &str) -> Result<Vec<SimpleQueryRow>, Error> {
    let messages = client.simple_query(sql).await?;
    Ok(messages.into_iter().filter_map(row).collect())
}

/// The first of them.
pub(super) async fn first(client: &Client, sql: &str) -> Result<Option<SimpleQueryRow>, Error> {
    Ok(rows(client, sql).await?.into_iter().next())
}

fn row(message: SimpleQueryMessage) -> Option<SimpleQueryRow> {
    match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    }
}

/// The first column of a row.
pub(super) fn column(row: &SimpleQueryRow) -> Option<&str> {
    row.try_get(0).ok().flatten()
}

/// Whether a row is the transaction's own name: then it answers what was just sent.
pub(super) fn is_echo(row: &SimpleQueryRow, tag: &Tag) -> bool {
    column(row).is_some_and(|name| *tag == *name)
}
