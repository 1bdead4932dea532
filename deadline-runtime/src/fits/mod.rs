//! Whether the calls in a function fit its budget, decided while it is compiled.
//!
//! * [`slots`]: what each awaited call declares, found by type inference.
//! * [`longest`]: the figure of what runs side by side.
//! * [`step`]: the control flow of a body, as the attribute wrote it down.
//! * [`price`] and [`costs`]: what a call counts, and the dearest way through the body.
//! * [`trace`]: which calls are on it.
//! * [`limits`]: what the function has, and the check.
//! * [`message`] and [`text`]: how it is said that something does not fit.
//!
//! Everything here runs in the compiler: the attribute puts the check into a constant that a pattern names, so that
//! `cargo check` evaluates it too.

mod costs;
mod limits;
mod longest;
mod message;
mod price;
mod slots;
mod step;
mod text;
mod trace;

pub use self::limits::{Fit, Fits, Limits};
pub use self::longest::Longest;
pub use self::slots::{
    Counts, Declares, Many, Slot, Slots, call, calls, counted, covers, many_calls, nothing,
};
