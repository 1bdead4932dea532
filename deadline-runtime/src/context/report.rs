//! What happened to one request: its scopes, what is missing from its answer, and where the time went.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::stop::{Brief, Cause};
use crate::tasks::AfterStopRecord;
use crate::time::{Deadline, Short};

/// More scopes than this are counted, not kept: a request must not cost memory without bound.
const KEPT: usize = 512;

/// A result that was replaced by a fallback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub(crate) operation: &'static str,
    pub(crate) cause: Cause,
}

impl Missing {
    /// The operation whose result is missing.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// Why.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        self.cause
    }
}

/// How one scope ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// With a value, in time.
    Completed,
    /// With a value, this long after its limit.
    Late(Duration),
    /// Stopped or refused.
    Stopped(Cause),
    /// It ran on because the mode does not enforce; it would have been stopped this long before it ended.
    WouldStop(Duration),
    /// It ran because the mode does not enforce; it would have been refused for want of this much.
    WouldRefuse(Duration),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Late(by) => write!(f, "late by {}", Short(*by)),
            Self::Stopped(cause) => cause.fmt(f),
            Self::WouldStop(by) => write!(f, "would stop, {} over", Short(*by)),
            Self::WouldRefuse(by) => write!(f, "would refuse, {} short", Short(*by)),
        }
    }
}

/// One scope of a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScopeRecord {
    /// The operation's name.
    pub operation: &'static str,
    /// How many scopes were around it.
    pub depth: usize,
    /// When it started, counted from the start of the request.
    pub started: Duration,
    /// How long it ran.
    pub elapsed: Duration,
    /// What it was granted; `None` without a limit.
    pub granted: Option<Duration>,
    /// How it ended.
    pub outcome: Outcome,
}

/// The breakdown of one request: as data, and as a waterfall of text through `Display`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The operation of the root context.
    pub operation: &'static str,
    /// The request id the root context was given.
    pub request_id: Option<Arc<str>>,
    /// How long the request has run so far.
    pub elapsed: Duration,
    /// What it was granted; `None` without a limit.
    pub granted: Option<Duration>,
    /// Why it was stopped, if it was.
    pub cause: Option<Cause>,
    /// Scopes in the order in which they started.
    pub scopes: Vec<ScopeRecord>,
    /// Scopes that ended after the report was full.
    pub omitted: usize,
    /// Scopes that ran without any deadline.
    pub unbounded: usize,
    /// What fallbacks replaced.
    pub missing: Vec<Missing>,
    /// Tasks and blocking closures that went on after the scope which had started them was over.
    pub orphans: usize,
    /// Those of them that still run.
    pub orphans_running: usize,
    /// The after-stop hooks that were due, in the order in which they ended.
    pub after_stop: Vec<AfterStopRecord>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: u32 = 40;
        let end = self
            .scopes
            .iter()
            .map(|scope| scope.started + scope.elapsed)
            .chain([self.elapsed])
            .max()
            .unwrap_or_default();
        let column = |at: Duration| -> usize {
            let share = at.as_nanos() * u128::from(WIDTH) / end.as_nanos().max(1);
            usize::try_from(share).unwrap_or(0).min(WIDTH as usize)
        };
        write!(f, "{}", self.operation)?;
        if let Some(id) = &self.request_id {
            write!(f, " [{id}]")?;
        }
        write!(f, " {}", Short(round(self.elapsed)))?;
        if let Some(granted) = self.granted {
            write!(f, " of {}", Short(round(granted)))?;
        }
        match self.cause {
            Some(cause) => writeln!(f, ", {cause}")?,
            None => writeln!(f)?,
        }
        let name_width = self
            .scopes
            .iter()
            .map(|scope| scope.operation.chars().count() + 2 * scope.depth)
            .max()
            .unwrap_or(0);
        for scope in &self.scopes {
            let from = column(scope.started);
            let to = column(scope.started + scope.elapsed).max(from + 1);
            write!(
                f,
                "  {:indent$}{:name$}  |{:from$}{}{:rest$}| {:>8} +{:>8}",
                "",
                scope.operation,
                "",
                "#".repeat(to - from),
                "",
                Short(round(scope.started)).to_string(),
                Short(round(scope.elapsed)).to_string(),
                indent = 2 * scope.depth,
                name = name_width.saturating_sub(2 * scope.depth),
                rest = (WIDTH as usize + 1).saturating_sub(to),
            )?;
            match scope.granted {
                Some(granted) => write!(f, " of {:>8}", Short(round(granted)).to_string())?,
                None => write!(f, " unlimited")?,
            }
            writeln!(f, "  {}", scope.outcome)?;
        }
        if self.omitted > 0 {
            writeln!(f, "  and {} more scopes", self.omitted)?;
        }
        for missing in &self.missing {
            writeln!(f, "  missing: {} ({})", missing.operation, missing.cause)?;
        }
        for hook in &self.after_stop {
            writeln!(f, "  after the stop: {hook}")?;
        }
        if self.orphans > 0 {
            writeln!(
                f,
                "  orphans: {}, of which {} still run",
                self.orphans, self.orphans_running
            )?;
        }
        Ok(())
    }
}

/// To tenths of a millisecond: finer figures hide what the reader looks for.
fn round(duration: Duration) -> Duration {
    let tenths = (duration.as_nanos() + 50_000) / 100_000;
    Duration::from_nanos(u64::try_from(tenths * 100_000).unwrap_or(u64::MAX))
}

/// What a root collects while its request runs.
#[derive(Default)]
pub(crate) struct Records(Mutex<Collected>);

#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) scopes: Vec<ScopeRecord>,
    pub(crate) omitted: usize,
    pub(crate) unbounded: usize,
    pub(crate) missing: Vec<Missing>,
    pub(crate) orphans: usize,
    pub(crate) orphans_running: usize,
    pub(crate) after_stop: Vec<AfterStopRecord>,
    /// The stop that became an error and has not been replaced by a fallback, and when it did.
    pub(crate) stop: Option<(Brief, Deadline)>,
}

impl Records {
    pub(crate) fn scope(&self, record: ScopeRecord) {
        self.with(|all| {
            if all.scopes.len() < KEPT {
                all.scopes.push(record);
            } else {
                all.omitted += 1;
            }
        });
    }

    pub(crate) fn missing(&self, missing: Missing) {
        self.with(|all| {
            if all.missing.len() < KEPT {
                all.missing.push(missing);
            }
        });
    }

    pub(crate) fn after_stop(&self, record: AfterStopRecord) {
        self.with(|all| {
            if all.after_stop.len() < KEPT {
                all.after_stop.push(record);
            }
        });
    }

    pub(crate) fn unbounded(&self) {
        self.with(|all| all.unbounded += 1);
    }

    pub(crate) fn with<R>(&self, read: impl FnOnce(&mut Collected) -> R) -> R {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
