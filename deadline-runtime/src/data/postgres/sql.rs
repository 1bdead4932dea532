//! The texts that are sent. Every one is a single simple query, so it costs one round trip.

use std::fmt::Write as _;
use std::time::Duration;

use super::Tag;
use crate::data::Policy;
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
    /// Whether the limit of statements is what is left, and not what the session has anyway.
    ours: bool,
}

/// What a session is limited to by its role, its database or the server: a request may only shorten that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ceilings {
    pub(crate) statement: Option<ServerLimit>,
    pub(crate) lock: Option<ServerLimit>,
    pub(crate) idle: Option<ServerLimit>,
}

impl Ceilings {
    /// Asks for them: name and milliseconds, a row each.
    pub(crate) const SQL: &'static str = "SELECT name, setting FROM pg_settings WHERE name IN \
        ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')";

    /// Takes a row of the answer. Zero is no limit there.
    pub(crate) fn take(&mut self, name: &str, setting: &str) {
        let limit = setting.parse().ok().map(Duration::from_millis);
        let limit = limit.and_then(ServerLimit::of);
        match name {
            "statement_timeout" => self.statement = limit,
            "lock_timeout" => self.lock = limit,
            "idle_in_transaction_session_timeout" => self.idle = limit,
            _ => {}
        }
    }
}

/// The shorter of two, where `None` is no limit.
fn shorter(a: Option<ServerLimit>, b: Option<ServerLimit>) -> Option<ServerLimit> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

impl Limits {
    /// For a call with so much left in a request with so much left.
    pub(crate) fn new(
        left: ServerLimit,
        request: Duration,
        policy: &Policy,
        ceilings: Ceilings,
    ) -> Self {
        let statement = ceilings.statement.map_or(left, |most| most.min(left));
        let idle = request.max(left.duration()).saturating_add(policy.cleanup);
        let lock = shorter(policy.lock_wait.and_then(ServerLimit::of), ceilings.lock);
        Self {
            statement,
            lock: lock.map(|lock| lock.min(statement)),
            idle: shorter(ServerLimit::of(idle), ceilings.idle),
            ours: statement == left,
        }
    }

    /// The limit of a statement whose end is ours: one at which the role ends anyway is not.
    pub(crate) fn ours(&self) -> Option<ServerLimit> {
        self.ours.then_some(self.statement)
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
pub(crate) fn seal(resolvable: bool) -> String {
    let mut sql = String::from("SET CONSTRAINTS ALL IMMEDIATE;");
    if resolvable {
        sql.push_str("SELECT pg_current_xact_id_if_assigned()::text;");
    }
    sql
}

/// The commit, guarded by the server's own clock: with the moment passed the division fails (`22012`), and in a
/// transaction that has failed before anything fails (`25P02`). A bare `COMMIT` of such a one is answered like a
/// success.
///
/// A statement of the user's may have ended the transaction: then its name is gone, the logarithm fails (`2201E`),
/// and what was not committed by us is not reported as if it were.
///
/// `within` counts from the server's beginning of the transaction. The name comes back as a row, so that it is this
/// commit's answer that is read and not that of something before it.
pub(crate) fn commit(within: Option<ServerLimit>, tag: &Tag) -> String {
    let mut sql =
        format!("SELECT '{tag}',ln((current_setting('application_name') = '{tag}')::int)");
    if let Some(within) = within {
        let _ = write!(
            sql,
            ",1/(clock_timestamp() < transaction_timestamp() + interval '{within} ms')::int"
        );
    }
    sql.push_str(";COMMIT");
    sql
}

/// Takes everything back. The name comes back as a row, as for [`commit`].
pub(crate) fn roll_back(tag: &Tag) -> String {
    format!("ROLLBACK;SELECT '{tag}'")
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
        let policy = Policy::new().lock_wait(Duration::from_secs(3));
        let request = Duration::from_millis(900);
        let limits = Limits::new(limit(450), request, &policy, Ceilings::default());
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
                 SET LOCAL idle_in_transaction_session_timeout = 1900;"
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
        let policy = Policy::new().cleanup(Duration::MAX);
        let limits = Limits::new(limit(u64::MAX), Duration::MAX, &policy, Ceilings::default());
        assert_eq!(
            refresh(&limits),
            "SET LOCAL statement_timeout = 2147483647;\
             SET LOCAL idle_in_transaction_session_timeout = 2147483647;"
        );
    }

    #[test]
    fn what_the_session_is_limited_to_is_only_shortened() {
        let mut ceilings = Ceilings::default();
        for (name, setting) in [
            ("statement_timeout", "5000"),
            ("lock_timeout", "0"),
            ("idle_in_transaction_session_timeout", "2000"),
        ] {
            ceilings.take(name, setting);
        }
        let request = Duration::from_secs(60);
        let limits = Limits::new(limit(30_000), request, &Policy::new(), ceilings);
        assert_eq!((limits.statement, limits.ours()), (limit(5_000), None));
        assert_eq!(limits.lock, None);
        assert_eq!(limits.idle, Some(limit(2_000)));
        let limits = Limits::new(limit(300), request, &Policy::new(), ceilings);
        assert_eq!(
            (limits.statement, limits.ours()),
            (limit(300), Some(limit(300)))
        );
    }

    #[test]
    fn no_plain_set_and_no_zero_anywhere() {
        let tag = Tag::of(&Context::none());
        let policy = Policy::new()
            .lock_wait(Duration::from_micros(300))
            .cleanup(Duration::ZERO);
        let limits = Limits::new(limit(1), Duration::ZERO, &policy, Ceilings::default());
        let begin = Begin {
            statement: "BEGIN",
            tag: &tag,
            limits: Some(limits),
        };
        for sql in [begin.sql(), refresh(&limits), seal(true)] {
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
