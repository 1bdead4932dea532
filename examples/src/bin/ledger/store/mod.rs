//! Where orders, their outbox and their results are kept.
//!
//! Every method is one transaction. What is written together: an order with its entry in the outbox, a result with the end of
//! that entry. So there is an entry exactly as long as somebody still has to ask the provider.

mod postgres;
mod sqlite;

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deadline_runtime::Context;

pub use self::postgres::Postgres;
pub use self::sqlite::Sqlite;
use crate::error::BoxError;
use crate::order::{Order, Payment, Verdict};

/// Longer than whoever took an entry may still work on it after its work should have ended: its reserve, and a moment.
pub const MARGIN: Duration = Duration::from_millis(800);
/// Until an entry that was left is looked at again.
const PAUSE: Duration = Duration::from_millis(200);
/// Where there is no deadline.
const LONGEST: Duration = Duration::from_secs(10);

/// What became of an attempt to take an order.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is ours to bring to its end: new, or left behind by somebody.
    Ours,
    /// Somebody is at work on it.
    AtWork,
    /// It has been brought to its end before.
    Done(Payment),
    /// The key belongs to another order.
    Other,
}

pub trait Store: Clone + Send + Sync + 'static {
    /// Takes an order and its entry in the outbox, if it is not there yet.
    fn take(&self, order: &Order) -> impl Future<Output = Result<Taken, BoxError>> + Send;

    /// Takes an entry of the outbox that nobody is at work on.
    fn take_left(&self) -> impl Future<Output = Result<Option<Order>, BoxError>> + Send;

    /// Writes the result down and ends the entry; nothing if that has been done.
    fn settle(
        &self,
        key: &str,
        verdict: &Verdict,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Gives an entry back that could not be brought to its end.
    fn leave(&self, key: &str) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// What is known of a payment.
    fn find(&self, key: &str) -> impl Future<Output = Result<Option<Payment>, BoxError>> + Send;
}

/// Which database the story uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    /// By the URL of a database in which the story may make schemas of its own.
    Postgres(String),
    /// A server that the story starts.
    OwnPostgres,
}

/// An order as it lies there, and until when somebody has it for itself; `None` when it has been brought to its end.
struct Known {
    order: Order,
    payment: Payment,
    taken_until: Option<i64>,
}

impl Known {
    fn judge(self, asked: &Order, now: i64) -> Taken {
        if self.order != *asked {
            return Taken::Other;
        }
        match self.taken_until {
            None => Taken::Done(self.payment),
            Some(until) if now < until => Taken::AtWork,
            Some(_) => Taken::Ours,
        }
    }
}

/// The wall clock in milliseconds, which is what outlives a process.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    millis(since.unwrap_or_default())
}

/// Until when an entry that is taken now belongs to whoever takes it: for as long as that one has time, which is also how long
/// everybody waits if it is killed.
fn lease(now: i64) -> i64 {
    let left = Context::current().remaining().unwrap_or(LONGEST);
    now.saturating_add(millis(left.saturating_add(MARGIN)))
}

/// When an entry that is left now is looked at again.
fn pause() -> i64 {
    now().saturating_add(millis(PAUSE))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
