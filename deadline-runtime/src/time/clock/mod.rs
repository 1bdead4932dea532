//! The clock that instants are read from: a count of nanoseconds, and what it says of tokio's instants.
//!
//! Nobody else knows which clock it is. [`system`] is tokio's own; [`counter`], for the feature `fast-clock`, is the counter of the
//! processor. With `test-util` it is tokio's in any case: tests pause it, and no counter pauses with it.

#[cfg(all(feature = "fast-clock", not(feature = "test-util")))]
mod anchor;
#[cfg(all(feature = "fast-clock", not(feature = "test-util")))]
mod counter;
#[cfg(not(all(feature = "fast-clock", not(feature = "test-util"))))]
mod system;

#[cfg(all(feature = "fast-clock", not(feature = "test-util")))]
pub(super) use self::counter::{count, instant, now};
#[cfg(not(all(feature = "fast-clock", not(feature = "test-util"))))]
pub(super) use self::system::{count, instant, now};
