//! [`Statement`]: what a caller wants to be executed.

use sqlx::postgres::{PgArguments, PgRow, PgStatement};
use sqlx::{AssertSqlSafe, Error, Execute, Postgres, Row as _, SqlSafeStr as _, SqlStr};

use crate::data::postgres::Tag;

/// A query, taken apart so that something can be put before it.
pub(super) struct Statement {
    sql: SqlStr,
    prepared: Option<PgStatement>,
    arguments: Option<PgArguments>,
    persistent: bool,
}

impl Statement {
    pub(super) fn of<'q>(mut query: impl Execute<'q, Postgres>) -> Result<Self, Error> {
        Ok(Self {
            prepared: query.statement().cloned(),
            arguments: query.take_arguments().map_err(Error::Encode)?,
            persistent: query.persistent(),
            sql: query.sql(),
        })
    }

    /// A text of our own: one simple query, however many statements are in it.
    pub(super) fn text(sql: String) -> Self {
        Self {
            sql: AssertSqlSafe(sql).into_sql_str(),
            prepared: None,
            arguments: None,
            persistent: false,
        }
    }

    /// Whether it goes as text, so that other statements can go before it in the same message. A query with arguments
    /// is prepared, and the driver waits for whatever was sent before it.
    pub(super) const fn is_text(&self) -> bool {
        self.arguments.is_none()
    }

    pub(super) fn after(self, before: &str) -> Self {
        Self::text(format!("{before}{}", self.sql.as_str()))
    }
}

impl Execute<'_, Postgres> for Statement {
    fn sql(self) -> SqlStr {
        self.sql
    }

    fn statement(&self) -> Option<&PgStatement> {
        self.prepared.as_ref()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, sqlx::error::BoxDynError> {
        Ok(self.arguments.take())
    }

    fn persistent(&self) -> bool {
        self.persistent
    }
}

/// Whether a row is the transaction's own name: then it answers what was just sent. A driver that was left in the
/// middle of something can be one answer behind.
pub(super) fn is_echo(row: &PgRow, tag: &Tag) -> bool {
    row.try_get_unchecked::<&str, _>(0)
        .is_ok_and(|name| *tag == *name)
}
