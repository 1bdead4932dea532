//! Faults of a dependency, injected on purpose: by a script, or at random from a seed.
//!
//! * `kind`: which faults there are, and the error that is injected.
//! * `plan`: which call gets which fault, and what was injected.
//! * `future`: a future with a fault.
//! * `layer`: a tower layer that does it to every call (feature `http`).

mod future;
mod kind;
#[cfg(feature = "http")]
mod layer;
mod plan;

pub use self::future::Faulty;
pub use self::kind::{Fault, Injected};
#[cfg(feature = "http")]
pub use self::layer::{FaultLayer, FaultService};
pub use self::plan::{Faults, InjectedCounts};
