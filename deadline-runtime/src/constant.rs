//! [`Constant`]: a figure that is given by the path of a `const`.

use std::ops::Deref;
use std::time::Duration;

use crate::time::Budget;

const YEAR: u128 = 365 * 24 * 60 * 60 * 1000;

/// The value of the `const`.
#[derive(Debug)]
pub struct Constant<T>(pub T);

impl Constant<Duration> {
    /// Its milliseconds.
    ///
    /// # Panics
    /// While the program is compiled, when it is not a whole number of milliseconds from one to a year.
    #[must_use]
    #[track_caller]
    pub const fn whole_millis(self) -> u64 {
        let millis = self.0.as_millis();
        assert!(
            self.0.subsec_nanos().is_multiple_of(1_000_000),
            "this constant is not a whole number of milliseconds, and timers have a resolution of 1ms: accepted is from 1ms to 1 year (365 days)"
        );
        assert!(
            millis > 0,
            "this constant is zero, which would be over before it starts: accepted is from 1ms to 1 year (365 days)"
        );
        assert!(
            millis <= YEAR,
            "this constant is more than a year: accepted is from 1ms to 1 year (365 days)"
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

impl Constant<Budget> {
    /// The milliseconds of its cap.
    ///
    /// # Panics
    /// As for a `Duration`, and when there is no cap in milliseconds.
    #[must_use]
    #[track_caller]
    pub const fn whole_millis(self) -> u64 {
        match self.0.duration() {
            Some(duration) => Constant(duration).whole_millis(),
            None => panic!(
                "this constant is a `Budget` without a duration of its own: accepted is from 1ms to 1 year (365 days)"
            ),
        }
    }
}

/// What a constant of any other type is asked instead, so that the answer is one error at its path.
#[derive(Debug)]
pub struct NoFigure<T>(T);

impl<T> Deref for Constant<T> {
    type Target = NoFigure<T>;

    fn deref(&self) -> &NoFigure<T> {
        unreachable!("the program does not compile")
    }
}

impl<T> NoFigure<T> {
    /// Does not compile.
    #[must_use]
    #[allow(clippy::unused_self, reason = "looked up as a method")]
    pub const fn whole_millis(&self) -> u64
    where
        T: SaysHowLong,
    {
        0
    }
}

/// A type that says how long; implemented by nobody, because those that do have a method of their own.
#[diagnostic::on_unimplemented(
    message = "this takes a `Duration` or a `Budget`, and the constant is of type `{Self}`",
    label = "expected a `const` of type `Duration` or `Budget`"
)]
pub trait SaysHowLong {}
