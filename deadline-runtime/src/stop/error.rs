//! [`Stopped`]: the one error of this crate.

use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use super::path::Path;
use super::{Cause, Phase, Sent};
use crate::time::{Deadline, Short};

/// Why a piece of work was stopped, which limit did it, and where.
///
/// Small (one pointer) and cheap to create. `Display` says in one line which limit won and where it came
/// from; `Debug` adds the scopes that were running with what each had left.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Budget, Cause, Context};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let cx = Context::root("report", Budget::new(Duration::from_millis(20)));
/// let stopped = cx.run(std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(stopped.cause(), Cause::DeadlineExceeded);
/// assert_eq!(stopped.limited_by().operation(), "report");
/// # }
/// ```
#[must_use = "a stop that is not returned leaves the caller without an answer"]
pub struct Stopped(Box<Details>);

/// The limit that was the binding one: whose it is and where it was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub(crate) operation: &'static str,
    pub(crate) location: &'static Location<'static>,
}

impl Limit {
    /// The operation whose limit it is.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// Where the limit was written: the file and line of the attribute or of the call that made the scope.
    #[must_use]
    pub const fn location(&self) -> &'static Location<'static> {
        self.location
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}:{})",
            self.operation,
            self.location.file(),
            self.location.line()
        )
    }
}

/// The figures of a stop without its owned parts, which is also what a boundary needs of one that an error type has
/// swallowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Brief {
    pub(crate) cause: Cause,
    pub(crate) phase: Phase,
    /// The scope that saw the stop.
    pub(crate) operation: &'static str,
    pub(crate) limit: Limit,
    /// The binding limit itself; `None` for a cancellation of work without a deadline.
    pub(crate) deadline: Option<Deadline>,
    pub(crate) budget: Option<Duration>,
    pub(crate) elapsed: Duration,
}

impl Brief {
    pub(crate) fn same_as(&self, stopped: &Stopped) -> bool {
        self.cause == stopped.cause() && self.operation == stopped.operation()
    }
}

pub(crate) struct Details {
    pub(crate) brief: Brief,
    /// The end of the budget that was kept back: reserve and cleanup.
    pub(crate) kept: Duration,
    /// For a refusal: what a useful run needs and what was left.
    pub(crate) needed: Option<(Duration, Duration)>,
    /// For a next attempt that was not made: how many were.
    pub(crate) attempts: Option<u32>,
    pub(crate) no_deadline: bool,
    pub(crate) location: &'static Location<'static>,
    pub(crate) path: Path,
    /// When it was seen, if that is known.
    pub(crate) seen: Option<Deadline>,
    /// For a call to another service that knows better than its phase does.
    pub(crate) sent: Option<Sent>,
    pub(crate) source: Option<Box<dyn Error + Send + Sync>>,
}

impl Details {
    /// What is known of a stop seen from outside any scope.
    pub(crate) fn of(brief: Brief) -> Self {
        Self {
            brief,
            kept: Duration::ZERO,
            needed: None,
            attempts: None,
            no_deadline: false,
            location: brief.limit.location,
            path: Path::default(),
            seen: None,
            sent: None,
            source: None,
        }
    }
}

impl Stopped {
    pub(crate) fn new(details: Details) -> Self {
        Self(Box::new(details))
    }

    /// When it was seen, if that is known.
    pub(crate) fn seen(&self) -> Option<Deadline> {
        self.0.seen
    }

    pub(crate) fn brief(&self) -> Brief {
        self.0.brief
    }

    /// Why.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.0.brief.cause
    }

    /// In what.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.0.brief.phase
    }

    /// The operation that was stopped: the innermost scope that saw it.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.0.brief.operation
    }

    /// The limit that was the binding one. On a tie it is the ancestor's.
    #[must_use]
    pub fn limited_by(&self) -> Limit {
        self.0.brief.limit
    }

    /// What the stopped operation was granted; `None` when it had no limit.
    #[must_use]
    pub fn budget(&self) -> Option<Duration> {
        self.0.brief.budget
    }

    /// How long the stopped operation had run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.brief.elapsed
    }

    /// The await or the checkpoint at which the stop was seen; where the limit was written when the stop
    /// met no await of the function itself.
    #[must_use]
    pub fn location(&self) -> &'static Location<'static> {
        self.0.location
    }

    /// For a refusal: what a useful run needs, and what was left.
    #[must_use]
    pub fn needed(&self) -> Option<(Duration, Duration)> {
        self.0.needed
    }

    /// Adds the last real error as [`source`](Error::source).
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Labels what the work was in; for integrations that know it.
    pub fn in_phase(mut self, phase: Phase) -> Self {
        self.0.brief.phase = phase;
        self
    }

    /// Whether the stopped call may have had an effect at the other side: what a retry asks before it repeats something
    /// that must not be done twice.
    #[must_use]
    pub fn sent(&self) -> Sent {
        self.0
            .sent
            .unwrap_or_else(|| Sent::in_phase(self.0.brief.phase))
    }

    /// Says whether anything was sent; for integrations that know it better than the phase does.
    pub fn with_sent(mut self, sent: Sent) -> Self {
        self.0.sent = Some(sent);
        self
    }

    /// Of a wait that is a part of the operation, by its own limit.
    #[cfg(feature = "stream")]
    pub(crate) fn of_a_wait(mut self, limit: Duration, since: Deadline) -> Self {
        self.0.brief.budget = Some(limit);
        self.0.brief.elapsed = Deadline::now().since(since);
        self.0.kept = Duration::ZERO;
        self
    }

    /// Refused: what a useful run needs, and what was left.
    #[cfg(any(
        feature = "sqlite",
        feature = "sqlx-postgres",
        feature = "tokio-postgres"
    ))]
    pub(crate) fn needing(mut self, needs: Duration, has: Duration) -> Self {
        self.0.needed = Some((needs, has));
        self
    }

    /// `TimedOut` for limits, `Other` for cancellations; never `Interrupted`, which callers retry blindly.
    pub(crate) fn io_kind(&self) -> std::io::ErrorKind {
        match self.cause() {
            Cause::DeadlineExceeded | Cause::DependencyTimeout | Cause::LocalBudgetRejected => {
                std::io::ErrorKind::TimedOut
            }
            _ => std::io::ErrorKind::Other,
        }
    }

    /// Digs a stop out of an error and its sources.
    ///
    /// ```
    /// use deadline_runtime::Stopped;
    ///
    /// fn is_ours(error: &(dyn std::error::Error + 'static)) -> bool {
    ///     Stopped::find(error).is_some()
    /// }
    /// assert!(!is_ours(&std::fmt::Error));
    /// ```
    #[must_use]
    pub fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut next: Option<&'e (dyn Error + 'static)> = Some(error);
        while let Some(error) = next {
            if let Some(stopped) = error.downcast_ref::<Self>() {
                return Some(stopped);
            }
            // `io::Error` shows what it wraps as itself, not as its source.
            if let Some(inner) = error
                .downcast_ref::<std::io::Error>()
                .and_then(std::io::Error::get_ref)
                && let Some(stopped) = Self::find(inner)
            {
                return Some(stopped);
            }
            next = error.source();
        }
        None
    }
}

/// `load_profile stopped: dependency_timeout after 400ms of 450ms (50ms of it reserved), limited by load_profile (src/a.rs:12)`
impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (this, brief) = (&*self.0, &self.0.brief);
        if this.no_deadline {
            return write!(
                f,
                "{} refused: {}: it requires a deadline and none is in scope, at {}:{}",
                brief.operation,
                brief.cause,
                brief.limit.location.file(),
                brief.limit.location.line()
            );
        }
        if let (Some((needs, has)), Some(attempts)) = (this.needed, this.attempts) {
            let (which, made) = match attempts {
                0 => ("first", String::new()),
                1 => ("next", String::from(" after 1 attempt")),
                made => ("next", format!(" after {made} attempts")),
            };
            return write!(
                f,
                "{} refused{made}: {}: {which} attempt would not fit: needs {}, has {}, limited by {}",
                brief.operation,
                brief.cause,
                Short(needs),
                Short(has),
                brief.limit
            );
        }
        if let Some((needs, has)) = this.needed {
            return write!(
                f,
                "{} refused: {}: needs {}, has {}, limited by {}",
                brief.operation,
                brief.cause,
                Short(needs),
                Short(has),
                brief.limit
            );
        }
        let verb = if brief.phase == Phase::Start || brief.cause == Cause::Overload {
            "refused"
        } else {
            "stopped"
        };
        write!(f, "{} {verb}: {}", brief.operation, brief.cause)?;
        if brief.phase != Phase::Start {
            if !matches!(brief.phase, Phase::Wait | Phase::Compute) {
                write!(f, " in {}", brief.phase)?;
            }
            write!(f, " after {}", Short(brief.elapsed))?;
            if let Some(budget) = brief.budget {
                write!(f, " of {}", Short(budget))?;
                if !this.kept.is_zero() {
                    write!(f, " ({} of it reserved)", Short(this.kept))?;
                }
            }
        }
        match brief.cause {
            Cause::DeadlineExceeded | Cause::DependencyTimeout | Cause::LocalBudgetRejected => {
                write!(f, ", limited by {}", brief.limit)
            }
            _ => write!(f, ", at {}:{}", this.location.file(), this.location.line()),
        }
    }
}

impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{self} [phase {}, seen at {}:{}",
            self.phase(),
            self.location().file(),
            self.location().line()
        )?;
        if !self.0.path.is_empty() {
            f.write_str("; path ")?;
            for (index, entry) in self.0.path.iter().enumerate() {
                if index > 0 {
                    f.write_str(" > ")?;
                }
                f.write_str(entry.operation)?;
                match (entry.hard, self.0.brief.deadline) {
                    (Some(hard), Some(limit)) if hard > limit => {
                        write!(f, " (+{})", Short(hard.since(limit)))?;
                    }
                    (Some(_), _) => f.write_str(" (at its limit)")?,
                    (None, _) => f.write_str(" (unlimited)")?,
                }
            }
        }
        f.write_str("]")?;
        if let Some(source) = &self.0.source {
            write!(f, " caused by {source:?}")?;
        }
        Ok(())
    }
}

impl Error for Stopped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

impl From<Stopped> for std::io::Error {
    /// `TimedOut` for limits, `Other` for cancellations; never `Interrupted`, which callers retry blindly.
    fn from(stopped: Stopped) -> Self {
        Self::new(stopped.io_kind(), stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stop that has no running scope.
    fn outside(cause: Cause, phase: Phase, operation: &'static str) -> Stopped {
        let limit = Limit {
            operation,
            location: Location::caller(),
        };
        Stopped::new(Details::of(Brief {
            cause,
            phase,
            operation,
            limit,
            deadline: None,
            budget: None,
            elapsed: Duration::ZERO,
        }))
    }

    #[derive(Debug)]
    struct Wrapped(Stopped);
    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapped")
        }
    }
    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_stop_is_found_behind_wrappers() {
        let stopped = outside(Cause::Shutdown, Phase::Queue, "pay");
        let twice = std::io::Error::other(Wrapped(stopped));
        let found = Stopped::find(&twice).map(|stopped| (stopped.cause(), stopped.phase()));
        assert_eq!(found, Some((Cause::Shutdown, Phase::Queue)));
        assert!(Stopped::find(&std::io::Error::other("x")).is_none());
        let direct = std::io::Error::from(outside(Cause::DeadlineExceeded, Phase::Wait, "pay"));
        assert_eq!(direct.kind(), std::io::ErrorKind::TimedOut);
        assert!(Stopped::find(&direct).is_some());
    }

    #[test]
    fn one_pointer_wide() {
        assert_eq!(size_of::<Result<(), Stopped>>(), size_of::<usize>());
    }
}
