//! Letting in no more than can be served in time.
//!
//! An [`Admission`] has a number of slots. Work takes one with [`Admission::enter`], or a whole HTTP service does with
//! [`AdmissionLayer`](crate::http::AdmissionLayer). Who finds none free waits in line, under its own deadline, unless
//! the wait is not worth it.
//!
//! | rule | from |
//! |---|---|
//! | A wait that is not expected to leave what a run needs is refused at once: `overload`, 503 with `Retry-After` | a timeout at the end of a queue helps nobody |
//! | A wait that lasts longer than it may is refused as well; one that the request's own deadline ends is that deadline | |
//! | The line is bounded: with so many waiting the next one is refused | an unbounded queue only hides an overload |
//! | Refusals by expectation are at most a part of all requests ([`refuse_at_most`](AdmissionBuilder::refuse_at_most)): an estimate that is off, or clients which come again at once, cannot turn a busy service into one that answers nobody. Only a real refusal counts against it | finagle's deadline filter |
//! | A slot comes back however the work ends: by a value, an error, a drop, a panic. Tasks and blocking closures of the request that outlive it keep its slot until they end | what runs takes room, whoever waits for it |
//! | Who leaves the line, because its client has gone, was not refused, and does not count as such | |
//!
//! The expectation is the usual time a slot is held, times those before it in the line, over the slots; while nothing is
//! known of that time nobody is refused by it.
//!
//! What this is not: a limit for several processes, for one tenant among others, or for a rate. It bounds what one process does
//! at once.

mod builder;
mod enter;
mod estimate;
mod limiter;
mod slot;
mod stats;

pub use self::builder::{AdmissionBuilder, AdmissionError};
pub use self::enter::Enter;
#[cfg(feature = "http")]
pub(crate) use self::enter::Refused;
pub use self::limiter::Admission;
pub use self::slot::Slot;
pub(crate) use self::slot::{Held, Kept};
pub use self::stats::AdmissionStats;
