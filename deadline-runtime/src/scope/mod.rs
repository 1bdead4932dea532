//! Scopes: one run of an annotated function or statement.
//!
//! * [`operation`]: what is declared about a scope.
//! * [`state`]: what a scope is, apart from its body.
//! * [`life`]: its state machine, the same for every kind; [`admission`] is how it begins, [`pending`] how it
//!   waits, [`leave`] how it waits for what it has spawned; [`drive`] is one poll from end to end.
//! * [`driver`], [`timer`] and [`alarm`]: what wakes it.
//! * [`outcome`]: how its end is made visible.
//! * [`scoped`], [`run`], [`limit`], [`shield`]: the kinds of scope, thin wrappers that say what a stop becomes.
//! * `series`: the scope of a stream, which yields many values.
//! * [`gate`], [`mod@guard`], [`pace`]: where a running body meets a stop; [`mod@checkpoint`] is what it then returns.

mod admission;
mod alarm;
mod checkpoint;
mod drive;
mod driver;
mod gate;
mod guard;
mod leave;
mod life;
mod limit;
mod operation;
mod outcome;
mod pace;
mod pending;
mod run;
mod scoped;
#[cfg(feature = "stream")]
mod series;
mod shield;
mod state;
mod timer;

pub use self::checkpoint::{instead, returns, stop};
pub(crate) use self::driver::Driver;
pub use self::gate::{At, Gate, Gated, Gates, Known, Later, Meets, gate_later};
pub use self::guard::{Guard, guard};
pub use self::limit::{Limit, Limited, LimitedOrMissed, Settle};
pub use self::operation::Spec;
pub(crate) use self::operation::{Described, Named, Operation};
pub(crate) use self::outcome::TARGET;
pub use self::pace::Pace;
pub(crate) use self::run::Attended;
pub use self::run::Run;
pub use self::scoped::{Carry, CarryBy, Fallback, HandsOut, Here, Holds, Joining, OnStop, Scoped};
#[cfg(feature = "stream")]
pub(crate) use self::series::Series;
pub use self::shield::Shield;
pub(crate) use self::timer::Timer;
