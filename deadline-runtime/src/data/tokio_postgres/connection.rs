//! [`Connection`]: statements inside a transaction.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;

use super::behind::behind;
use super::error::{Error, breaks, is_an_answer};
use super::link::Link;
use super::live::Live;
use super::options::TransactionOptions;
use super::pool::Shared;
use crate::context::Context;
use crate::data::bounds::{Bounds, Verdict};
use crate::data::limit::ServerLimit;
use crate::data::postgres::{self, Begin, Limits};
use crate::data::{CommitError, UnknownCommit};
use crate::stop::{Brief, Cause, Details, Phase, Stopped};
use crate::time::Deadline;

/// What a [`Transaction`](super::Transaction) executes its statements on; `&mut *tx` is one.
///
/// The methods are those of [`tokio_postgres::Transaction`], with `&mut self`: one statement after the other. What we
/// have to say ourselves (the `BEGIN`, what is left) is sent together with the statement, without waiting for its
/// answer.
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
    options: TransactionOptions,
    /// When the server had answered the `BEGIN`, which was not before it had begun.
    pub(super) began: Option<Deadline>,
    /// What goes before the statement, until it is answered.
    pub(super) before: Option<Before>,
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

/// A text of our own, sent when it is first polled; kept until it is answered, also when the statement that it went
/// before is dropped.
pub(super) struct Before {
    answer: Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>,
    begins: bool,
    /// What is owed is part of it.
    takes_back: bool,
    told: Option<Limits>,
}

/// It did not go well.
struct Failed {
    error: tokio_postgres::Error,
    begins: bool,
}

/// Whether the server has to be told again: always when it would be more patient than we are, which costs nothing but
/// its own work, and when it would be less so, as with a statement in a wider context than the one before.
fn is_stale(told: Option<Limits>, limits: Limits) -> bool {
    let Some(told) = told else {
        return true;
    };
    let (told, left) = (told.statement.duration(), limits.statement.duration());
    told > left || told + Duration::from_millis(1) < left
}

impl Connection {
    pub(super) const fn new(
        live: Live,
        shared: Arc<Shared>,
        cx: Context,
        options: TransactionOptions,
    ) -> Self {
        Self {
            live,
            shared,
            cx,
            options,
            began: None,
            before: None,
            told: None,
            level: 0,
            owed: None,
            recovering: None,
            over: None,
            unserializable: false,
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
    pub(super) fn stopped(&mut self, stopped: &Stopped) {
        if self.level > 0 && !self.is_over() {
            if self.live.parts().is_some_and(|parts| parts.busy) {
                self.recovering = self.live.recover();
            }
        } else {
            self.abandon(stopped);
        }
    }

    /// The transaction is over, for this reason.
    pub(super) fn abandon(&mut self, stopped: &Stopped) {
        self.over.get_or_insert(stopped.brief());
        self.before = None;
        self.live.roll_back();
    }

    /// Waits for what is left of statements that were stopped or dropped.
    pub(super) async fn settle(&mut self, bounds: &Bounds) -> Result<(), Error> {
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
            return Err(self.over_as_error().into());
        }
        if self.before.is_some() {
            let sent = Deadline::now();
            let answered = bounds.run(Phase::Database, poll_fn(|cx| self.poll_before(cx)));
            match answered.await {
                Ok(Ok(())) => {}
                Ok(Err(failed)) => return Err(self.failed(bounds, sent, failed, true)),
                Err(stopped) => {
                    self.stopped(&stopped);
                    return Err(stopped.into());
                }
            }
        }
        Ok(())
    }

    /// Everything that is to be done before a statement is made; it is then given to [`drive`](Self::drive).
    pub(super) async fn ready(&mut self, bounds: &Bounds) -> Result<Arc<Link>, Error> {
        self.settle(bounds).await?;
        let left = match bounds.admit(Duration::ZERO) {
            Ok(left) => left,
            Err(refused) => {
                // With the whole transaction's time over nobody needs its locks any more; a narrower context only
                // refuses.
                if self.is_over() {
                    self.abandon(&refused);
                }
                return Err(refused.into());
            }
        };
        let (text, told) = self.preface(bounds, left);
        let (begins, takes_back) = (self.began.is_none(), self.owed.is_some());
        let over = self.over_as_error();
        let Some(parts) = self.live.parts() else {
            return Err(over.into());
        };
        let link = parts.link.clone();
        if !text.is_empty() {
            let link = link.clone();
            self.before = Some(Before {
                answer: Box::pin(async move { link.batch_execute(&text).await }),
                begins,
                takes_back,
                told,
            });
        }
        Ok(link)
    }

    /// What has to go before the next statement, and what the server then knows.
    pub(super) fn preface(
        &mut self,
        bounds: &Bounds,
        left: Option<ServerLimit>,
    ) -> (String, Option<Limits>) {
        let limits = left.map(|left| self.limits(bounds, left));
        if self.began.is_none()
            && let Some(parts) = self.live.parts()
        {
            let begin = Begin {
                statement: &self.options.sql(),
                tag: &parts.tag,
                limits,
            };
            return (begin.sql(), limits);
        }
        let mut text = String::new();
        let mut told = self.told;
        if let Some(owed) = self.owed {
            text = postgres::roll_back_to(owed.level);
            told = owed.told;
        }
        if let Some(limits) = limits
            && is_stale(told, limits)
        {
            text.push_str(&postgres::refresh(&limits));
            told = Some(limits);
        }
        (text, told)
    }

    pub(super) fn limits(&self, bounds: &Bounds, left: ServerLimit) -> Limits {
        let request = bounds.request_left();
        let request = request.max(Bounds::of(self.cx.clone()).request_left());
        let ceilings = self.shared.ceilings.get().copied().unwrap_or_default();
        Limits::new(left, request, &self.shared.policy, ceilings)
    }

    fn poll_before(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Failed>> {
        let Some(before) = &mut self.before else {
            return Poll::Ready(Ok(()));
        };
        let (begins, takes_back, told) = (before.begins, before.takes_back, before.told);
        let answer = ready!(before.answer.as_mut().poll(cx));
        self.before = None;
        if let Err(error) = answer {
            return Poll::Ready(Err(Failed { error, begins }));
        }
        if begins {
            self.began = Some(Deadline::now());
        }
        if takes_back {
            self.owed = None;
        }
        self.told = told;
        Poll::Ready(Ok(()))
    }

    /// What went before the statement has failed. In a transaction the statement has then failed as well.
    fn failed(&mut self, bounds: &Bounds, sent: Deadline, failed: Failed, executed: bool) -> Error {
        if !failed.begins || !executed || !is_an_answer(&failed.error) {
            return self.judge(bounds, sent, failed.error);
        }
        // There is no transaction, and the statement was behind it. That is not to be called a failure: it may have
        // happened.
        let stopped = bounds.judge(Verdict::Theirs, Phase::Database);
        self.abandon(&stopped);
        CommitError::Unknown(UnknownCommit {
            stopped: stopped.with_source(failed.error),
            transaction: None,
        })
        .into()
    }

    /// A statement is through, in whatever way.
    pub(super) fn answered<T>(
        &mut self,
        bounds: &Bounds,
        sent: Deadline,
        answer: Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        // The driver may have found a fault of its own and left the rest of the answer unread.
        if answer.as_ref().map_or_else(is_an_answer, |_| true) {
            self.live.set_idle();
        }
        answer.map_err(|error| self.judge(bounds, sent, error))
    }

    /// What an error of the driver is to the caller. Its own errors stay what they are.
    fn judge(&mut self, bounds: &Bounds, sent: Deadline, error: tokio_postgres::Error) -> Error {
        let told = self.told.and_then(|told| Some((sent, told.ours()?)));
        if breaks(&error) {
            // A limit may have ended the connection, or the network has.
            let verdict = bounds.verdict(told);
            let stopped = bounds.judge(verdict, Phase::Database);
            self.abandon(&stopped);
            return if verdict == Verdict::Theirs {
                error.into()
            } else {
                stopped.with_source(error).into()
            };
        }
        let Some(code) = error.code().map(SqlState::code) else {
            return error.into();
        };
        self.unserializable |= postgres::is_serialization_failure(code);
        if !postgres::ends_by_limit_or_cancel(code) {
            return error.into();
        }
        let verdict = bounds.verdict(told);
        // `NOWAIT` and the user's own limit for locks are errors of the statement.
        if verdict == Verdict::Theirs && code == "55P03" {
            return error.into();
        }
        let stopped = bounds.judge(verdict, Phase::Database);
        if verdict != Verdict::Theirs {
            // The server was faster with it than we.
            self.stopped(&stopped);
        }
        stopped.with_source(error).into()
    }

    /// Sends what [`ready`](Self::ready) has put before it, `statement` behind it without waiting for an answer, and
    /// waits for both.
    pub(super) async fn drive<T>(
        &mut self,
        bounds: &Bounds,
        executes: bool,
        statement: impl Future<Output = Result<T, tokio_postgres::Error>> + Send,
    ) -> Result<T, Error> {
        let mut using = Using {
            connection: self,
            bounds,
            done: false,
        };
        let sent = Deadline::now();
        if let Some(parts) = using.connection.live.parts() {
            (parts.open, parts.busy) = (true, true);
        }
        let end = {
            let connection = &mut *using.connection;
            let both = behind(|cx| connection.poll_before(cx), statement);
            bounds.run(Phase::Database, both).await
        };
        using.done = true;
        let connection = &mut *using.connection;
        match end {
            Ok(Ok(answer)) => connection.answered(bounds, sent, answer),
            Ok(Err(failed)) => Err(connection.failed(bounds, sent, failed, executes)),
            Err(stopped) => {
                connection.stopped(&stopped);
                Err(stopped.into())
            }
        }
    }
}

/// The transaction while a statement runs.
pub(super) struct Using<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) bounds: &'a Bounds,
    pub(super) done: bool,
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        // Dropped on its way. Without a stop the transaction goes on.
        if !self.done
            && let Err(stopped) = self.bounds.check(Phase::Database)
        {
            self.connection.stopped(&stopped);
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
