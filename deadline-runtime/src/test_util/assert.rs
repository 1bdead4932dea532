//! [`assert_stopped`]: what a stop was, with messages that say what it was instead.

use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;

use crate::stop::{Cause, Phase, Stopped};

/// Something that may hold a stop: a [`Stopped`], or a `Result` with one as its error or among the sources of that.
pub trait MayBeStopped {
    /// The stop.
    ///
    /// # Errors
    /// What it is instead.
    fn find_stop(&self) -> Result<&Stopped, String>;
}

impl MayBeStopped for Stopped {
    fn find_stop(&self) -> Result<&Stopped, String> {
        Ok(self)
    }
}

impl<T: Debug, E: Error + 'static> MayBeStopped for Result<T, E> {
    fn find_stop(&self) -> Result<&Stopped, String> {
        match self {
            Ok(value) => Err(format!("the value {value:?}")),
            Err(error) => Stopped::find(error)
                .ok_or_else(|| format!("an error without a stop among its sources: {error:?}")),
        }
    }
}

/// That it was stopped; what exactly, the returned [`StopCheck`] asks.
///
/// ```
/// use deadline_runtime::test_util::{assert_stopped, run_expired};
/// use deadline_runtime::{Cause, Phase, Stopped, deadline};
///
/// #[deadline]
/// async fn load() -> Result<u32, Stopped> {
///     Ok(1)
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let outcome = run_expired(load).await;
/// assert_stopped(&outcome)
///     .cause(Cause::DeadlineExceeded)
///     .phase(Phase::Start)
///     .limited_by("test");
/// # }
/// ```
///
/// # Panics
/// If it was not, with what it is instead.
#[track_caller]
pub fn assert_stopped<O: MayBeStopped + ?Sized>(outcome: &O) -> StopCheck<'_> {
    match outcome.find_stop() {
        Ok(stopped) => StopCheck(stopped),
        Err(instead) => panic!("expected a stop, got {instead}"),
    }
}

/// Asks what a stop was. Each question panics if the answer is another one.
#[derive(Debug, Clone, Copy)]
pub struct StopCheck<'a>(&'a Stopped);

#[allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "the question itself is the effect"
)]
impl<'a> StopCheck<'a> {
    /// Why it was.
    ///
    /// # Panics
    /// If the cause is another one.
    #[track_caller]
    pub fn cause(self, expected: Cause) -> Self {
        self.is("cause", &self.0.cause(), &expected)
    }

    /// In what it was.
    ///
    /// # Panics
    /// If the phase is another one.
    #[track_caller]
    pub fn phase(self, expected: Phase) -> Self {
        self.is("phase", &self.0.phase(), &expected)
    }

    /// Which operation was stopped.
    ///
    /// # Panics
    /// If it is another one.
    #[track_caller]
    pub fn operation(self, expected: &str) -> Self {
        self.is("operation", self.0.operation(), expected)
    }

    /// Whose limit it was.
    ///
    /// # Panics
    /// If it was another's.
    #[track_caller]
    pub fn limited_by(self, expected: &str) -> Self {
        self.is("limit", self.0.limited_by().operation(), expected)
    }

    /// How long the operation had run, exactly: for a paused clock.
    ///
    /// # Panics
    /// If it is another time.
    #[track_caller]
    pub fn elapsed(self, expected: Duration) -> Self {
        self.is("elapsed time", &self.0.elapsed(), &expected)
    }

    /// What the operation had been granted.
    ///
    /// # Panics
    /// If it is another time, or there was no limit.
    #[track_caller]
    pub fn budget(self, expected: Duration) -> Self {
        self.is("budget", &self.0.budget(), &Some(expected))
    }

    /// The stop.
    pub fn stop(self) -> &'a Stopped {
        self.0
    }

    #[track_caller]
    fn is<V: PartialEq + Debug + ?Sized>(self, what: &str, is: &V, expected: &V) -> Self {
        assert!(
            is == expected,
            "the {what} of the stop is {is:?}, not {expected:?}\n  stop: {:?}",
            self.0
        );
        self
    }
}
