//! [`Context`]: the deadline, the cancellation and the identity of one request, as a value.

pub(crate) mod current;
mod handle;
pub(crate) mod id;
#[cfg(all(test, deadline_loom))]
mod interleavings;
mod mode;
pub(crate) mod node;
pub(crate) mod overrides;
mod report;
mod root;
mod signal;

pub use self::handle::{Cancelled, Context, timeout};
pub use self::mode::{Mode, UnknownMode};
pub use self::overrides::{Overrides, OverridesError};
pub use self::report::{Missing, Outcome, Report, ScopeRecord};
pub use self::root::RootBuilder;
pub(crate) use self::signal::Place;
