//! The texts that are sent. Every one is a single simple query, so it costs one round trip.

use std::fmt::Write as _;
use std::time::Duration;

use super::Tag;
use crate::data::limit::ServerLimit;

/// What a server is told about the time a transaction has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Of each statement: what is left.
    pub(crate) statement: ServerLimit,
    /// Of each wait for a lock.
    pub(crate) lock: Option<ServerLimit>,
    /// Of the time between statements. It ends the connection, so it comes after everything that we do ourselves: for
    /// the case that this process hangs or its machine is gone.
    pub(crate) idle: Option<ServerLimit>,
}

impl Limits {
    pub(crate) fn new(statement: ServerLimit, lock: Option<Duration>, cleanup: Duration) -> Self {
        Self {
            statement,
            lock: lock
                .and_then(ServerLimit::of)
                .map(|lock| lock.min(statement)),
            idle: ServerLimit::of(statement.duration().saturating_add(cleanup)),
        }
    }

    /// `SET LOCAL` only: a plain `SET` would stay on the pooled connection, and `set_config` is a query, after which a
    /// transaction can no longer be given another isolation level.
    fn write(&self, sql: &mut String) {
        let _ = write!(sql, "SET LOCAL statement_timeout = {};", self.statement);
        if let Some(lock) = self.lock {
            let _ = write!(sql, "SET LOCAL lock_timeout = {lock};");
        }
        if let Some(idle) = self.idle {
            let _ = write!(
                sql,
                "SET LOCAL idle_in_transaction_session_timeout = {idle};"
            );
        }
    }
}

/// The beginning of a transaction.
#[derive(Debug)]
pub(crate) struct Begin<'a> {
    /// `BEGIN`, or the user's own with an isolation level.
    pub(crate) statement: &'a str,
    pub(crate) tag: &'a Tag,
    pub(crate) limits: Option<Limits>,
}

impl Begin<'_> {
    pub(crate) fn sql(&self) -> String {
        let statement = self.statement.trim().trim_end_matches(';');
        let mut sql = format!("{statement};");
        let _ = write!(sql, "SET LOCAL application_name = '{}';", self.tag);
        if let Some(limits) = &self.limits {
            limits.write(&mut sql);
        }
        sql
    }
}

/// The limits anew, inside a transaction.
pub(crate) fn refresh(limits: &Limits) -> String {
    let mut sql = String::new();
    limits.write(&mut sql);
    sql
}

/// The step before a commit: what was put off until the commit happens now, under the limit of statements, which does not
/// bound a commit; and the id of the transaction, without which nobody can ask later what became of it.
pub(crate) fn seal(limits: Option<&Limits>, resolvable: bool) -> String {
    let mut sql = String::new();
    if let Some(limits) = limits {
        limits.write(&mut sql);
    }
    sql.push_str("SET CONSTRAINTS ALL IMMEDIATE;");
    if resolvable {
        sql.push_str("SELECT pg_current_xact_id_if_assigned()::text;");
    }
    sql
}

/// The commit, guarded by the server's own clock: with the moment passed the division fails (`22012`), and in a transaction
/// that has failed before anything fails (`25P02`). A bare `COMMIT` of such a one is answered like a success.
///
/// `within` counts from the server's beginning of the transaction.
pub(crate) fn commit(within: Option<ServerLimit>) -> String {
    match within {
        Some(within) => format!(
            "SELECT 1/(clock_timestamp() < transaction_timestamp() + interval '{within} ms')::int;COMMIT"
        ),
        None => String::from("SELECT 1;COMMIT"),
    }
}

/// Marks a place in a transaction to come back to.
pub(crate) fn savepoint(level: u32) -> String {
    format!("SAVEPOINT deadline_{level}")
}

/// Keeps what was done since.
pub(crate) fn release(level: u32) -> String {
    format!("RELEASE SAVEPOINT deadline_{level}")
}

/// Takes back what was done since, the limits that were set since among it.
pub(crate) fn roll_back_to(level: u32) -> String {
    format!("ROLLBACK TO SAVEPOINT deadline_{level};RELEASE SAVEPOINT deadline_{level};")
}

/// Cancels whatever the transaction of that name is doing, if it still runs.
pub(crate) fn cancel(tag: &Tag) -> String {
    format!("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '{tag}'")
}

/// Ends the connection that the transaction of that name runs on.
pub(crate) fn terminate(tag: &Tag) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{tag}'"
    )
}

/// What became of a transaction: `committed`, `aborted`, `in progress`, or nothing when it is too old.
pub(crate) fn resolve(id: crate::data::TransactionId) -> String {
    format!("SELECT pg_xact_status('{id}'::xid8)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    fn limit(millis: u64) -> ServerLimit {
        ServerLimit::of(Duration::from_millis(millis)).unwrap()
    }

    #[test]
    fn one_text_begins_names_and_limits() {
        let tag = Tag::of(&Context::none());
        let limits = Limits::new(
            limit(450),
            Some(Duration::from_secs(3)),
            Duration::from_secs(1),
        );
        let begin = Begin {
            statement: " BEGIN ISOLATION LEVEL SERIALIZABLE; ",
            tag: &tag,
            limits: Some(limits),
        };
        assert_eq!(
            begin.sql(),
            format!(
                "BEGIN ISOLATION LEVEL SERIALIZABLE;SET LOCAL application_name = '{tag}';\
                 SET LOCAL statement_timeout = 450;SET LOCAL lock_timeout = 450;\
                 SET LOCAL idle_in_transaction_session_timeout = 1450;"
            )
        );
        let begin = Begin {
            statement: "BEGIN",
            tag: &tag,
            limits: None,
        };
        assert_eq!(
            begin.sql(),
            format!("BEGIN;SET LOCAL application_name = '{tag}';")
        );
    }

    #[test]
    fn the_longest_limit_does_not_wrap_with_the_cleanup_on_top() {
        let limits = Limits::new(limit(u64::MAX), None, Duration::MAX);
        assert_eq!(
            refresh(&limits),
            "SET LOCAL statement_timeout = 2147483647;\
             SET LOCAL idle_in_transaction_session_timeout = 2147483647;"
        );
    }

    #[test]
    fn no_plain_set_and_no_zero_anywhere() {
        let tag = Tag::of(&Context::none());
        let limits = Limits::new(limit(1), Some(Duration::from_micros(300)), Duration::ZERO);
        let begin = Begin {
            statement: "BEGIN",
            tag: &tag,
            limits: Some(limits),
        };
        for sql in [begin.sql(), refresh(&limits), seal(Some(&limits), true)] {
            for statement in sql.split(';').map(str::trim) {
                let set = statement.starts_with("SET ");
                let local = statement.starts_with("SET LOCAL ")
                    || statement.starts_with("SET CONSTRAINTS ");
                assert!(!set || local, "{statement}");
                assert!(!statement.ends_with("= 0"), "{statement}");
            }
        }
    }
}
