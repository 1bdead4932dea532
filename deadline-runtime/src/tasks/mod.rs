//! Tasks: work beside the body of a scope, and work that outlives it.
//!
//! * [`group`]: tasks that belong to a place in the code; [`task`]: to a scope, or to nobody (critical).
//! * [`crew`]: the tasks of one owner, and the one way in which they are ended; [`work`] is one task, [`roster`] counts
//!   those that still run;
//!   [`places`] how many may run at once.
//! * [`attached`]: what hangs on a scope; [`close`]: how a scope leaves it; [`reaper`]: who goes on when nobody can wait.
//! * [`blocking`]: closures on threads of their own.
//! * [`hooks`]: asynchronous tidying up after a stop.
//! * [`tracker`]: what still runs, for a shutdown.

mod attached;
mod blocking;
mod close;
mod crew;
mod error;
mod group;
mod hooks;
mod leaving;
mod places;
mod reaper;
mod roster;
mod task;
mod tracker;
mod unwind;
mod work;

pub(crate) use self::attached::HasParts;
pub use self::blocking::Blocking;
pub(crate) use self::close::Close;
pub(crate) use self::crew::GRACE;
pub use self::error::{Panicked, TaskError};
pub use self::group::{Closed, Group, Reserved};
pub use self::hooks::{AfterStop, AfterStopOutcome, AfterStopRecord, AfterStopResult};
pub(crate) use self::hooks::{Due, HasQueue};
pub use self::task::Task;
pub(crate) use self::tracker::{Counted, Gauge};
pub use self::tracker::{StillRunning, Tracker, TrackerStats};
