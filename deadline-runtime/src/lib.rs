//! One deadline per request, carried through async Rust and checked by the compiler.
//!
//! Skeleton of the crate documentation.

#![allow(
    clippy::inline_always,
    reason = "opaque code between a deadline and its body copies the whole future at every level"
)]

mod context;
mod figure;
mod scope;
mod stop;
#[cfg(feature = "test-util")]
pub mod test_util;
mod time;
mod trip;

pub use deadline_macros::deadline;

pub use crate::context::{
    Cancelled, Context, Missing, Mode, Outcome, Report, RootBuilder, ScopeRecord, UnknownMode,
    timeout,
};
pub use crate::figure::{Budgeted, Figure, Millis, Percent, Unbudgeted};
pub use crate::scope::{Run, unbounded_scopes};
pub use crate::stop::{Cause, FromStopped, Limit, Phase, Stopped};
pub use crate::time::{Budget, Deadline, DurationError, parse_duration};

/// What the attributes expand to. Not for use by hand: it changes with them.
#[doc(hidden)]
pub mod __rt {
    pub use crate::scope::{
        At, Carry, Fallback, Gate, Guard, Leaf, Limit, Limited, LimitedOrMissed, OnStop, Parent,
        Scoped, Settle, Shield, Spec, checkpoint, guard, missed, stop,
    };

    /// The milliseconds of a budget that is a constant.
    ///
    /// # Panics
    /// While the program is compiled, when the constant is not a whole number of milliseconds from one to a year.
    #[must_use]
    pub const fn whole_millis(millis: u128) -> u64 {
        assert!(
            millis > 0,
            "a budget of less than a millisecond: timers have a resolution of 1ms"
        );
        assert!(
            millis <= 365 * 24 * 60 * 60 * 1000,
            "a budget of more than a year"
        );
        #[allow(
            clippy::cast_possible_truncation,
            reason = "checked above; there is no const conversion"
        )]
        {
            millis as u64
        }
    }
}

/// Refuses to go together with the attributes of another version.
#[doc(hidden)]
#[macro_export]
macro_rules! __same_version {
    ("0.1.0") => {};
    ($other:literal) => {
        ::core::compile_error!(::core::concat!(
            "deadline-macros ",
            $other,
            " does not fit deadline-runtime 0.1.0: depend on deadline-runtime alone, it brings its macros"
        ));
    };
}
