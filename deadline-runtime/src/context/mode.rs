//! [`Mode`]: how much of a deadline is enforced.

use std::fmt;
use std::str::FromStr;

/// How much of a deadline is enforced; carried by the root context and valid for every scope below it.
///
/// The steps are those of a rollout: look first, then hand on, then enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mode {
    /// Nothing at all; also for debuggers, where every deadline would pass at a breakpoint.
    Off,
    /// Nothing is refused, shortened, dropped or answered differently; what would have been is recorded with
    /// the operation and by how much.
    Observe,
    /// As `Observe`, and the deadline is visible to the program and sent on to other services.
    Propagate,
    /// Everything.
    #[default]
    Enforce,
}

impl Mode {
    /// Whether work is refused and stopped.
    #[must_use]
    pub const fn enforces(self) -> bool {
        matches!(self, Self::Enforce)
    }

    /// Whether the program and other services see the deadline.
    #[must_use]
    pub const fn propagates(self) -> bool {
        matches!(self, Self::Enforce | Self::Propagate)
    }

    /// The word configuration uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Propagate => "propagate",
            Self::Enforce => "enforce",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A mode that does not exist was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMode(String);

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a mode: accepted are `off`, `observe`, `propagate` and `enforce`",
            self.0
        )
    }
}

impl std::error::Error for UnknownMode {}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        [Self::Off, Self::Observe, Self::Propagate, Self::Enforce]
            .into_iter()
            .find(|mode| text.eq_ignore_ascii_case(mode.as_str()))
            .ok_or_else(|| UnknownMode(text.chars().take(32).collect()))
    }
}
