//! [`TransactionOptions`]: how a transaction is begun.

use std::fmt::Write as _;

use tokio_postgres::IsolationLevel;

/// The characteristics of a transaction, where they are not the session's.
///
/// ```
/// use deadline_runtime::data::tokio_postgres::TransactionOptions;
/// use tokio_postgres::IsolationLevel;
///
/// let options = TransactionOptions::new()
///     .isolation_level(IsolationLevel::Serializable)
///     .read_only(true);
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "options do nothing until a transaction is begun with them"]
pub struct TransactionOptions {
    isolation_level: Option<IsolationLevel>,
    read_only: Option<bool>,
    deferrable: Option<bool>,
}

impl TransactionOptions {
    /// Those of the session.
    pub const fn new() -> Self {
        Self {
            isolation_level: None,
            read_only: None,
            deferrable: None,
        }
    }

    /// The isolation level.
    pub const fn isolation_level(mut self, level: IsolationLevel) -> Self {
        self.isolation_level = Some(level);
        self
    }

    /// Whether it may only read.
    pub const fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = Some(read_only);
        self
    }

    /// Whether its start may be delayed until it can no longer fail: with serializable transactions that only read.
    pub const fn deferrable(mut self, deferrable: bool) -> Self {
        self.deferrable = Some(deferrable);
        self
    }

    /// The `BEGIN` itself is bare and has nothing to fail of; what may be refused comes after it, where a refusal
    /// fails the transaction, and with it the statement that is already on its way.
    pub(super) fn sql(self) -> String {
        let mut modes = String::new();
        let level = self.isolation_level.map(|level| match level {
            IsolationLevel::ReadUncommitted => " ISOLATION LEVEL READ UNCOMMITTED,",
            IsolationLevel::ReadCommitted => " ISOLATION LEVEL READ COMMITTED,",
            IsolationLevel::RepeatableRead => " ISOLATION LEVEL REPEATABLE READ,",
            _ => " ISOLATION LEVEL SERIALIZABLE,",
        });
        let read_only = self
            .read_only
            .map(|yes| if yes { " READ ONLY," } else { " READ WRITE," });
        let deferrable = self.deferrable.map(|yes| {
            if yes {
                " DEFERRABLE,"
            } else {
                " NOT DEFERRABLE,"
            }
        });
        for mode in [level, read_only, deferrable].into_iter().flatten() {
            modes.push_str(mode);
        }
        let mut sql = String::from("BEGIN");
        if let Some(modes) = modes.strip_suffix(',') {
            let _ = write!(sql, ";SET TRANSACTION{modes}");
        }
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_said() {
        assert_eq!(TransactionOptions::new().sql(), "BEGIN");
        let reading = TransactionOptions::new()
            .isolation_level(IsolationLevel::Serializable)
            .read_only(true)
            .deferrable(false);
        assert_eq!(
            reading.sql(),
            "BEGIN;SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, NOT DEFERRABLE"
        );
        let writing = TransactionOptions::new().read_only(false);
        assert_eq!(writing.sql(), "BEGIN;SET TRANSACTION READ WRITE");
    }
}
