//! [`Overrides`]: budgets by operation name, at run time.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::scope::{Operation, TARGET};
use crate::time::{Short, parse_duration};

const VARIABLE: &str = "DEADLINE_OVERRIDES";

/// Budgets by operation name that count instead of those written in the program.
///
/// For an incident, or to find a figure before it is written down: `load_profile=700ms, dashboard=2s`. The handle is
/// cheap to clone and hung on the root of each request ([`RootBuilder::overrides`](crate::RootBuilder::overrides),
/// `Policy::overrides`); [`set`](Self::set) changes what holds for the requests that begin from then on.
///
/// The names are those of annotated functions (`name = "…"` if they have one) and of boundaries, where the override is
/// the default and never more than the maximum. A child can still only shorten: an override that is longer than what
/// the parent has left changes nothing. Caps of `#[budget]` statements stay as they are.
///
/// What is written stays what the compiler has checked, so each of these is said once as a warning of the target
/// `deadline`:
///
/// | the override | counts | warning |
/// |---|---|---|
/// | differs from what is written | yes | the sums that were checked count what is written |
/// | is longer than the parent has left | the parent's end does | it has no effect |
/// | leaves nothing after reserve, cleanup and minimum | no | what is written counts |
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Context, Overrides};
///
/// let overrides: Overrides = "load_profile=700ms".parse().unwrap();
/// let cx = Context::builder("request").overrides(&overrides).build();
/// overrides.set("load_profile=650ms, GET /=2s").unwrap();
/// assert_eq!(overrides.get("GET /"), Some(Duration::from_secs(2)));
/// # let _ = cx;
/// ```
#[derive(Clone, Default)]
pub struct Overrides(Arc<RwLock<Arc<Table>>>);

/// The overrides of one moment.
#[derive(Debug, Default)]
pub(crate) struct Table(HashMap<Box<str>, Entry>);

#[derive(Debug)]
struct Entry {
    budget: Duration,
    told_that_it_differs: AtomicBool,
    told_that_it_is_over: AtomicBool,
    told_that_it_is_too_little: AtomicBool,
}

/// A list of overrides that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverridesError {
    entry: String,
    problem: String,
}

impl OverridesError {
    fn of(entry: &str, problem: impl Into<String>) -> Self {
        Self {
            entry: entry.chars().take(64).collect(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for OverridesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an override: {} (accepted: operations with their budgets, as in `load_profile=700ms, dashboard=2s`)",
            self.entry, self.problem
        )
    }
}

impl std::error::Error for OverridesError {}

impl Overrides {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of the variable `DEADLINE_OVERRIDES`; none without it.
    ///
    /// # Errors
    /// [`OverridesError`] for an entry that is not understood. Nothing is guessed.
    pub fn from_env() -> Result<Self, OverridesError> {
        match std::env::var_os(VARIABLE) {
            Some(value) => value.to_string_lossy().parse(),
            None => Ok(Self::new()),
        }
    }

    /// Replaces them all, for the requests that begin from now on.
    ///
    /// # Errors
    /// [`OverridesError`] for an entry that is not understood; what held before then holds on.
    pub fn set(&self, list: &str) -> Result<(), OverridesError> {
        let table = Arc::new(Table::parse(list)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = table;
        Ok(())
    }

    /// The budget of an operation, if there is one here.
    #[must_use]
    pub fn get(&self, operation: &str) -> Option<Duration> {
        self.now().0.get(operation).map(|entry| entry.budget)
    }

    /// What holds for a request that begins now; `None` where nothing is overridden.
    pub(crate) fn table(&self) -> Option<Arc<Table>> {
        Some(self.now()).filter(|table| !table.0.is_empty())
    }

    fn now(&self) -> Arc<Table> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl FromStr for Overrides {
    type Err = OverridesError;

    fn from_str(list: &str) -> Result<Self, OverridesError> {
        let table = Arc::new(Table::parse(list)?);
        Ok(Self(Arc::new(RwLock::new(table))))
    }
}

/// As it is read: `dashboard=2s, load_profile=700ms`.
impl fmt::Display for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.now();
        let mut entries: Vec<_> = table.0.iter().collect();
        entries.sort_unstable_by_key(|(name, _)| *name);
        for (index, (name, entry)) in entries.into_iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{name}={}ms", entry.budget.as_millis())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Overrides({self})")
    }
}

impl Table {
    fn parse(list: &str) -> Result<Self, OverridesError> {
        let mut table = Self::default();
        for entry in list.split(',').map(str::trim) {
            if entry.is_empty() {
                continue;
            }
            // From the right: the name of a boundary may have the sign in it.
            let (name, budget) = entry
                .rsplit_once('=')
                .map(|(name, budget)| (name.trim(), budget.trim()))
                .filter(|(name, _)| !name.is_empty())
                .ok_or_else(|| OverridesError::of(entry, "it names no operation"))?;
            let budget = parse_duration(budget)
                .map_err(|error| OverridesError::of(entry, error.to_string()))?;
            let new = Entry {
                budget,
                told_that_it_differs: AtomicBool::new(false),
                told_that_it_is_over: AtomicBool::new(false),
                told_that_it_is_too_little: AtomicBool::new(false),
            };
            if table.0.insert(name.into(), new).is_some() {
                return Err(OverridesError::of(entry, "the operation is named twice"));
            }
        }
        Ok(table)
    }

    /// What an annotated function is granted whose parent has `left`; `None` where what is written counts.
    #[cold]
    pub(crate) fn of_scope(
        &self,
        operation: &Operation,
        left: Option<Duration>,
    ) -> Option<Duration> {
        let entry = self.0.get(operation.name)?;
        let figures = &operation.figures;
        let least = figures.least.unwrap_or(1_000_000);
        let needed = Duration::from_nanos(figures.kept.saturating_add(least));
        let written = figures.cap.map(Duration::from_nanos);
        let say = |told: &AtomicBool, problem: &str| {
            if !told.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    target: TARGET,
                    op = operation.name,
                    budget = %Short(entry.budget),
                    written = written.map(|written| Short(written).to_string()),
                    "override: {problem}"
                );
            }
        };
        if entry.budget < needed {
            say(
                &entry.told_that_it_is_too_little,
                "it leaves nothing after the reserve, so what is written counts",
            );
            return None;
        }
        if written.is_some_and(|written| written != entry.budget) {
            say(
                &entry.told_that_it_differs,
                "the sums checked by the compiler count what is written",
            );
        }
        if left.is_some_and(|left| left < entry.budget) {
            say(
                &entry.told_that_it_is_over,
                "longer than what its caller has left, which holds",
            );
        }
        Some(entry.budget)
    }

    /// What a request is granted at a boundary whose caller asks for nothing.
    #[cfg(feature = "http")]
    pub(crate) fn of_boundary(&self, operation: &str) -> Option<Duration> {
        self.0.get(operation).map(|entry| entry.budget)
    }
}
