//! One deadline per request, carried through async Rust and checked by the compiler.
//!
//! A request crosses services, each with a timeout of its own; the client leaves and the backend works on. With this crate
//! the request has **one absolute deadline** that travels with it. Every annotated function gets a part of it, children can only shorten
//! it, work that cannot finish is refused before it starts, and what nobody waits for stops.
//!
//! ```
//! use std::time::Duration;
//! use deadline_runtime::{Cause, Stopped, deadline};
//!
//! #[deadline(budget = "900ms", reserve = "100ms", min = "50ms")]
//! async fn dashboard(user: u32) -> Result<String, Stopped> {
//!     let profile = load_profile(user).await?;
//!     #[budget("250ms", fallback = String::from("no orders"))]
//!     let orders = recent_orders(user).await;
//!     Ok(format!("{profile}, {orders}"))
//! }
//!
//! #[deadline(budget = "450ms")]
//! async fn load_profile(user: u32) -> Result<String, Stopped> {
//!     Ok(format!("user {user}"))
//! }
//!
//! async fn recent_orders(_user: u32) -> String {
//!     tokio::time::sleep(Duration::from_secs(4)).await;
//!     String::from("three orders")
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! assert_eq!(dashboard(7).await.unwrap(), "user 7, no orders");
//! # }
//! ```
//!
//! # The words
//!
//! | word | meaning |
//! |---|---|
//! | timeout | a duration; only at the edges, in configuration and on the wire |
//! | deadline | an absolute instant ([`Deadline`]); the only thing carried inside a process |
//! | budget | the most time a function may take ([`Budget`]): its deadline is the earlier of its parent's and `start + budget` |
//! | reserve | the end of a budget that is kept for building and sending the answer; children and awaits may not use it |
//! | minimum | with less left the work is refused before it starts; equality runs |
//! | cleanup | the last slice of a function's own budget, for tidying up after a stop |
//! | cause | why work was stopped ([`Cause`]): exactly one, the first one wins |
//! | scope | one run of an annotated function: its context, its deadline, its children |
//! | checkpoint | a place where a stopped scope returns instead of going on |
//!
//! No deadline is `None`, never a zero and never a huge number; nothing left is expired.
//!
//! # What a stop does
//!
//! A function's body is polled first, then the clock is read: a value that is ready is kept, also in the poll which crosses the deadline. A
//! body that is still pending is polled once more with the stop visible, given one turn of the scheduler for a value that is already on its way,
//! and dropped; then the error is made. `?` therefore works as always: a child's [`Stopped`] reaches its parent's body, which may use its
//! reserve to answer anyway.
//!
//! * An await of a future that knows nothing of deadlines is not begun in a scope that is stopped.
//! * A loop returns at its checkpoint between two iterations, also if it never gives its thread away: within one iteration, or 20 µs where
//!   those are short; an iteration and about a millisecond where they suddenly take longer than before.
//! * With `cleanup` each await hands the stop to the body itself, so that code after it can tidy up; `#[shield]` keeps one bounded await from
//!   being cut.
//! * The context is taken where a function is *called*, so `tokio::spawn(f(x))`, a `JoinSet` or a channel to another task keep it. Of two
//!   contexts of one request the one that polls decides; of two requests both hold.
//!
//! # By hand
//!
//! [`Context::current`] is the running scope's context: what is left, whether it is stopped, a narrower child, a `cancel`. [`Context::root`]
//! makes one for a request that comes in. [`timeout`] is tokio's function under the request's deadline. [`Overrides`] are
//! budgets by name, changed while the program runs; [`Stopped::sent`] says whether a call may be repeated. [`fan_out`] runs several
//! branches at once and answers with what is there in time; `stream` (a feature) bounds a stream in total and for each item.
//! [`Context::spawn`] and [`Group`] start tasks that do not outlive their place, [`Context::blocking`] a closure on another thread;
//! [`Context::critical`], [`Context::detach`] and [`Context::after_stop`] are for what may, and a [`Tracker`] waits for those at
//! shutdown: "Work beside the body" below, with a table of ways not to be cut.
//! [`hedge`] makes another attempt beside a slow one; `retry` (a feature) tries again while there is time. [`admission`] lets
//! no more in than can be served in time.
//!
//! # Testing
//!
//! On tokio's paused clock (`#[tokio::test(start_paused = true)]`) every figure is exact and no test waits. The feature `test-util` has
//! a module of the same name for the rest: to run a function with little time or none and through every early return, to let loops that
//! compute see time go by, to cancel at 30 ms, to have a dependency hang or disconnect, and to ask which stop it was and what is left running.
//!
//! # Features
//!
//! `http` (tower layers for servers and clients, gRPC included), `axum`, `reqwest`, `reqwest-middleware`, `tonic`, `serve`, `retry`, `stream`,
//! `sqlx-postgres` and `tokio-postgres` (module `data`: transactions whose limits the server knows, commits of known outcome), `sqlite` (the same for an embedded database), `fast-clock` (below), and `test-util`.
//! Without any of them this crate depends on tokio (`rt`, `sync`, `time`), tracing, pin-project-lite and slab.
#![doc = include_str!("time/clock/chapter.md")]
#![doc = include_str!("fits/chapter.md")]
#![doc = include_str!("tasks/chapter.md")]
#![allow(
    clippy::inline_always,
    reason = "opaque code between a deadline and its body copies the whole future at every level"
)]

pub mod admission;
mod attempt;
mod constant;
mod context;
#[cfg(feature = "data")]
pub mod data;
pub mod fan_out;
mod figure;
mod fits;
pub mod hedge;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "retry")]
pub mod retry;
mod scope;
mod stop;
#[cfg(feature = "stream")]
pub mod stream;
mod sync;
mod tasks;
#[cfg(feature = "test-util")]
pub mod test_util;
mod time;
mod trip;

pub use deadline_macros::{budget, checkpoint, deadline, shield};

pub use crate::attempt::{Attempt, AttemptCounts, AttemptOutcome, AttemptRecord};
pub use crate::context::{
    Cancelled, Context, Missing, Mode, Outcome, Overrides, OverridesError, Report, RootBuilder,
    ScopeRecord, UnknownMode, timeout,
};
pub use crate::figure::{Attempts, Budgeted, Figure, Millis, Percent, Unbudgeted};
pub use crate::fits::Longest;
pub use crate::scope::Run;
pub use crate::stop::{Cause, FromStopped, Limit, Phase, Sent, Stopped};
pub use crate::tasks::{
    AfterStop, AfterStopOutcome, AfterStopRecord, AfterStopResult, Blocking, Closed, Group,
    Panicked, Reserved, StillRunning, Task, TaskError, Tracker, TrackerStats,
};
pub use crate::time::{Budget, Deadline, DurationError, WallClock, parse_duration};

/// What the attributes expand to. Not for use by hand: it changes with them.
#[doc(hidden)]
pub mod __rt {
    pub use crate::constant::Constant;
    pub use crate::fits::{
        Counts, Declares, Fit, Fits, Limits, Many, Slot, Slots, call, calls, counted, covers,
        many_calls, nothing,
    };
    pub use crate::scope::{
        At, Carry, CarryBy, Fallback, Gate, Gated, Gates, Guard, HandsOut, Here, Holds, Joining,
        Known, Later, Limit, Limited, LimitedOrMissed, Meets, OnStop, Pace, Scoped, Settle, Shield,
        Spec, gate_later, guard, instead, returns, stop,
    };
}

/// Refuses to go together with the attributes of another version.
#[doc(hidden)]
#[macro_export]
macro_rules! __same_version {
    ("0.1.0") => {};
    ($other:literal) => {
        ::core::compile_error!(::core::concat!(
            "deadline-macros ",
            $other,
            " does not fit deadline-runtime 0.1.0: depend on deadline-runtime alone, it brings its macros"
        ));
    };
}
