//! [`Connection`]: statements inside a transaction.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use sqlx::postgres::{PgConnection, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Describe, Either, Error, Execute, Executor, Postgres, SqlStr};
use tokio::task::JoinHandle;

use super::begin::Opened;
use super::error::{breaks, code};
use super::live::Live;
use super::pool::Shared;
use super::sink::Sink;
use super::statement::Statement;
use crate::context::Context;
use crate::data::bounds::{Bounds, Verdict};
use crate::data::limit::ServerLimit;
use crate::data::postgres::{self, Limits};
use crate::data::rows::{Rows, next};
use crate::stop::{Brief, Cause, Details, Phase, Stopped};
use crate::time::Deadline;

/// What a [`Transaction`](super::Transaction) executes its statements on; `&mut *tx` is one.
///
/// Each statement belongs to the context that calls it, or, where there is none, to the one that began the
/// transaction. It is refused when that is stopped or has less than a millisecond left; it comes back when that ends,
/// with the stop as its error, and the transaction is then over: cancelled on the server, rolled back, its locks
/// freed. Only inside a savepoint, and when it was a narrower context than that of the transaction which ended, the
/// transaction can go on when the savepoint is left.
pub struct Connection {
    pub(super) live: Live,
    pub(super) shared: Arc<Shared>,
    pub(super) cx: Context,
    /// Not before the server's own beginning of the transaction, which was somewhere within the round trip.
    pub(super) began: Deadline,
    /// What the server was last told about the time that is left.
    pub(super) told: Option<Limits>,
    /// Open savepoints.
    pub(super) level: u32,
    /// A savepoint that was left without being kept: taken back before anything else.
    pub(super) owed: Option<Owed>,
    /// A statement inside a savepoint was stopped, and is being cancelled.
    pub(super) recovering: Option<JoinHandle<Live>>,
    /// Why the transaction is over.
    over: Option<Brief>,
    /// The server could not serialize it.
    pub(super) unserializable: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Owed {
    pub(super) level: u32,
    /// What the server believes again afterwards.
    pub(super) told: Option<Limits>,
}

/// What goes before a statement, and what the server then knows.
pub(super) struct Before {
    pub(super) text: String,
    statements: usize,
    told: Option<Limits>,
}

/// Whether the server has to be told again.
///
/// It may be a little more patient than we are, because telling it costs a round trip where a statement has
/// arguments: the driver waits for the answer of whatever goes before it. And it must not be less patient, as it
/// would be with a statement in a wider context than the one before; figures are whole milliseconds.
fn is_stale(told: Option<Limits>, limits: Limits) -> bool {
    let Some(told) = told else {
        return true;
    };
    let (told, left) = (told.statement.duration(), limits.statement.duration());
    let tolerance = (left / 10).max(Duration::from_millis(5));
    told > left + tolerance || told + Duration::from_millis(1) < left
}

impl Connection {
    pub(super) fn new(opened: Opened, shared: Arc<Shared>, cx: Context) -> Self {
        Self {
            live: opened.live,
            shared,
            cx,
            began: opened.began,
            told: opened.limits,
            level: 0,
            owed: None,
            recovering: None,
            over: None,
            unserializable: false,
        }
    }

    /// sqlx's connection below, for what has no other way (`COPY`). What runs there has the limits that the server
    /// was last told and is not cut by us; it must neither begin nor end a transaction, nor change its
    /// `application_name`.
    ///
    /// # Errors
    /// When the transaction is over.
    pub fn sqlx(&mut self) -> Result<&mut PgConnection, Error> {
        let over = self.over_as_error();
        match self.live.parts() {
            Some(parts) => {
                // Nobody tells us when it is done.
                parts.busy = true;
                Ok(&mut parts.connection)
            }
            None => Err(over.into()),
        }
    }

    /// The stop that has ended the transaction, as an error for everything that comes after it.
    pub(super) fn over_as_error(&self) -> Stopped {
        match self.over {
            Some(brief) => Stopped::new(Details::of(brief)),
            None => Bounds::of(self.cx.clone()).stop(Cause::DependencyFailed, Phase::Database),
        }
    }

    /// Whether the time of the transaction itself is over.
    fn is_over(&self) -> bool {
        Bounds::of(self.cx.clone()).is_over()
    }

    /// A statement was stopped. The server fails the transaction with it, but for a savepoint.
    fn stopped(&mut self, stopped: &Stopped) {
        if self.level > 0 && !self.is_over() {
            if self.live.parts().is_some_and(|parts| parts.busy) {
                self.recovering = self.live.recover();
            }
        } else {
            self.abandon(stopped);
        }
    }

    /// Waits until a statement that was stopped is over on the server.
    pub(super) async fn settle(&mut self, bounds: &Bounds) -> Result<(), Stopped> {
        if let Some(recovering) = &mut self.recovering {
            // By reference: who is dropped here has not lost it.
            let recovered = bounds.run(Phase::Database, recovering).await;
            self.recovering = None;
            match recovered {
                Ok(Ok(live)) => self.live = live,
                // The runtime is shutting down.
                Ok(Err(_)) => {}
                Err(stopped) => self.abandon(&stopped),
            }
        }
        if self.live.parts().is_none() {
            return Err(self.over_as_error());
        }
        Ok(())
    }

    /// The transaction is over, for this reason.
    pub(super) fn abandon(&mut self, stopped: &Stopped) {
        self.over.get_or_insert(stopped.brief());
        self.live.roll_back();
    }

    /// What has to go before the next statement.
    pub(super) fn before(&self, bounds: &Bounds, left: Option<ServerLimit>) -> Before {
        let mut text = String::new();
        let mut told = self.told;
        if let Some(owed) = self.owed {
            text = postgres::roll_back_to(owed.level);
            told = owed.told;
        }
        if let Some(left) = left {
            let limits = self.limits(bounds, left);
            if is_stale(told, limits) {
                text.push_str(&postgres::refresh(&limits));
                told = Some(limits);
            }
        }
        Before {
            statements: text.matches(';').count(),
            text,
            told,
        }
    }

    pub(super) fn limits(&self, bounds: &Bounds, left: ServerLimit) -> Limits {
        let request = bounds.request_left();
        let request = request.max(Bounds::of(self.cx.clone()).request_left());
        let ceilings = self.shared.ceilings.get().copied().unwrap_or_default();
        Limits::new(left, request, &self.shared.policy, ceilings)
    }

    /// The server has carried it out.
    fn went_before(&mut self, told: Option<Limits>) {
        self.owed = None;
        self.told = told;
    }

    /// What an error of the driver is to the caller. Its own errors stay what they are.
    pub(super) fn judge(&mut self, bounds: &Bounds, sent: Deadline, error: Error) -> Error {
        if breaks(&error) {
            // A limit may have ended the connection, or the network has.
            let told = self.told.and_then(|told| Some((sent, told.ours()?)));
            let verdict = bounds.verdict(told);
            let stopped = bounds.judge(verdict, Phase::Database);
            self.abandon(&stopped);
            return if verdict == Verdict::Theirs {
                error
            } else {
                stopped.with_source(error).into()
            };
        }
        let Some(code) = code(&error) else {
            return error;
        };
        self.unserializable |= postgres::is_serialization_failure(&code);
        if !postgres::ends_by_limit_or_cancel(&code) {
            return error;
        }
        let told = self.told.and_then(|told| Some((sent, told.ours()?)));
        let verdict = bounds.verdict(told);
        // `NOWAIT` and the user's own limit for locks are errors of the statement.
        if verdict == Verdict::Theirs && code == "55P03" {
            return error;
        }
        let stopped = bounds.judge(verdict, Phase::Database);
        if verdict != Verdict::Theirs {
            // The server was faster with it than we.
            self.stopped(&stopped);
        }
        stopped.with_source(error).into()
    }
}

/// The transaction while a statement runs.
struct Using<'a> {
    connection: &'a mut Connection,
    bounds: &'a Bounds,
    done: bool,
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        // Dropped on its way. Without a stop it may be rows whose reader has seen enough: the transaction goes on.
        if !self.done
            && let Err(stopped) = self.bounds.check(Phase::Database)
        {
            self.connection.stopped(&stopped);
        }
    }
}

/// Executes a statement and hands over what comes back, row by row.
pub(super) async fn each(
    connection: &mut Connection,
    bounds: &Bounds,
    statement: Statement,
    sink: Sink<'_>,
) -> Result<(), Error> {
    connection.settle(bounds).await?;
    let left = match bounds.admit(Duration::ZERO) {
        Ok(left) => left,
        Err(refused) => {
            // With the whole transaction's time over nobody needs its locks any more; a narrower context only refuses.
            if connection.is_over() {
                connection.abandon(&refused);
            }
            return Err(refused.into());
        }
    };
    let before = connection.before(bounds, left);
    if before.text.is_empty() {
        execute(connection, bounds, statement, None, sink).await
    } else if statement.is_text() {
        let statement = statement.after(&before.text);
        execute(connection, bounds, statement, Some(before), sink).await
    } else {
        let first = Statement::text(before.text.clone());
        execute(connection, bounds, first, Some(before), Sink::Nowhere).await?;
        execute(connection, bounds, statement, None, sink).await
    }
}

/// `before` is the beginning of the statement's text; it has happened when so many answers have come.
async fn execute(
    connection: &mut Connection,
    bounds: &Bounds,
    statement: Statement,
    before: Option<Before>,
    mut sink: Sink<'_>,
) -> Result<(), Error> {
    enum End {
        Done,
        Failed(Error),
        Stopped(Stopped),
    }
    let mut using = Using {
        connection,
        bounds,
        done: false,
    };
    let over = using.connection.over_as_error();
    let Some(parts) = using.connection.live.parts() else {
        return Err(over.into());
    };
    let sent = Deadline::now();
    parts.busy = true;
    let mut ahead = before.as_ref().map_or(0, |before| before.statements);
    let end = {
        let mut items = (&mut *parts.connection).fetch_many(statement);
        loop {
            match bounds.run(Phase::Database, next(&mut items)).await {
                Ok(Some(Ok(Either::Left(_)))) if ahead > 0 => ahead -= 1,
                Ok(Some(Ok(item))) => sink.put(item).await,
                Ok(Some(Err(error))) => break End::Failed(error),
                Ok(None) => break End::Done,
                Err(stopped) => break End::Stopped(stopped),
            }
        }
    };
    using.done = true;
    let connection = &mut *using.connection;
    // Dropped before this, or failed on the way: what is owed is owed again, and the server would refuse it twice.
    if let (Some(before), 0) = (before, ahead) {
        connection.went_before(before.told);
    }
    match end {
        End::Done if ahead > 0 => {
            let error = Error::Protocol("another answer than that of the statement".into());
            Err(connection.judge(bounds, sent, error))
        }
        End::Done => {
            connection.live.set_idle();
            Ok(())
        }
        End::Failed(error) => {
            connection.live.set_idle();
            Err(connection.judge(bounds, sent, error))
        }
        End::Stopped(stopped) => {
            connection.stopped(&stopped);
            Err(stopped.into())
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("context", &self.cx)
            .field("over", &self.over.map(|over| over.cause))
            .finish_non_exhaustive()
    }
}

impl<'c> Executor<'c> for &'c mut Connection {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Self::Database>,
    {
        let bounds = Bounds::here();
        let statement = Statement::of(query);
        Box::pin(Rows::new(move |out| async move {
            let bounds = bounds.polled().or(&self.cx);
            each(self, &bounds, statement?, Sink::Stream(out)).await
        }))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Self::Database>,
    {
        let bounds = Bounds::here();
        let statement = Statement::of(query);
        Box::pin(async move {
            let bounds = bounds.polled().or(&self.cx);
            let mut first = None;
            each(self, &bounds, statement?, Sink::First(&mut first)).await?;
            Ok(first)
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, Error>>
    where
        'c: 'e,
    {
        let bounds = Bounds::here();
        Box::pin(async move {
            let bounds = bounds.polled().or(&self.cx);
            bounds.admit(Duration::ZERO)?;
            let sent = Deadline::now();
            let connection = self.sqlx()?;
            let prepared = bounds
                .run(Phase::Database, connection.prepare_with(sql, parameters))
                .await;
            match prepared {
                Ok(prepared) => {
                    self.live.set_idle();
                    prepared.map_err(|error| self.judge(&bounds, sent, error))
                }
                Err(stopped) => {
                    self.abandon(&stopped);
                    Err(stopped.into())
                }
            }
        })
    }

    #[doc(hidden)]
    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, Error>>
    where
        'c: 'e,
    {
        Box::pin(async move { self.sqlx()?.describe(sql).await })
    }
}
