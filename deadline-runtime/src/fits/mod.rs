//! Whether the calls in a function fit its budget, decided while it is compiled.
//!
//! * [`slots`]: what each awaited call declares, found by type inference.
//! * [`step`]: the control flow of a body, as the attribute wrote it down.
//! * [`costs`]: the dearest way through it.
//! * [`limits`]: what the function has, and the check.
//! * [`message`] and [`text`]: how it is said that something does not fit.
//!
//! Everything here runs in the compiler: the attribute puts the check into a constant that a pattern names, so that
//! `cargo check` evaluates it too.

mod costs;
mod limits;
mod message;
mod slots;
mod step;
mod text;

pub use self::limits::{Fit, Fits, Limits};
pub use self::slots::{Declares, Slot, Slots, call, calls, nothing};
pub use self::step::Step;
