//! What trying again and trying beside have in common: one attempt, and how its end is counted.
//!
//! * [`around`]: what the scope around has left, and the errors made from that.
//! * [`fault`]: the error types that an attempt may end with.
//! * [`trial`]: one attempt under a context of its own.
//! * [`record`], [`counts`] and [`watch`]: how its end is made visible.
//! * [`tokens`]: the bucket behind the budgets for extra load.

mod around;
mod counts;
mod fault;
mod record;
mod tokens;
mod trial;
mod watch;

pub(crate) use self::around::{Around, Place, forget, own_stop, refusal, unnoted, waits_at};
pub use self::counts::AttemptCounts;
pub use self::fault::Fault;
pub(crate) use self::fault::{Failure, Kind, worth_another};
pub use self::record::{Attempt, AttemptOutcome, AttemptRecord};
pub(crate) use self::tokens::{TOKEN, Tokens};
pub(crate) use self::trial::{Plan, Trial, outcome};
pub(crate) use self::watch::Watch;
