//! Instants, durations and how they are written.
//!
//! Inside a process only absolute instants ([`Deadline`]) are carried; durations appear at the edges.

mod budget;
mod clock;
mod deadline;
mod text;
mod wall;

pub use self::budget::Budget;
pub(crate) use self::budget::{Figures, SHORTEST};
pub use self::deadline::Deadline;
pub(crate) use self::deadline::{LONGEST, nanos};
pub(crate) use self::text::Short;
pub use self::text::{DurationError, parse_duration};
pub use self::wall::WallClock;
