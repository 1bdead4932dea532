//! Testing code that runs under a deadline.
//!
//! Behind the feature `test-util`, for `[dev-dependencies]`. On a paused clock
//! (`#[tokio::test(start_paused = true)]`, a current-thread runtime) every figure is exact and no test waits.
//!
//! | to test | use |
//! |---|---|
//! | a function with little time, or none | [`run_with_budget`], [`run_expired`] |
//! | every early return once | [`run_stopped_at`], counting up; [`checkpoints_passed`] |
//! | where a loop that computes stops | [`run_ticking`], [`tick_per_checkpoint`]: a checkpoint takes a set time of the paused clock |
//! | how long something took | [`elapsed_of`] |
//! | what happens when at 30 ms … | [`Script`] |
//! | what other tasks make of it before time goes on | [`run_until_idle`] |
//! | code that holds the thread | [`pass`]: the paused clock moves in the middle of a poll |
//! | a dependency that is slow, hangs, fails, disconnects, never yields | [`Faults`], and with the feature `http` `FaultLayer` |
//! | which stop it was | [`assert_stopped`] |
//! | that nothing is left running | [`assert_nothing_left`] under a context, [`registered`]; [`assert_idle`] with a [`Tracker`](crate::Tracker) |
//! | sockets, files, threads, databases | real time, and [`needs_real_time`] in the helper, so that nobody pauses the clock there |
//!
//! # A test, from end to end
//!
//! ```
//! use std::time::Duration;
//! use deadline_runtime::test_util::{Fault, Faults, assert_nothing_left, assert_stopped, elapsed_of};
//! use deadline_runtime::{Budget, Cause, Context, Stopped, deadline};
//!
//! #[deadline(budget = "80ms")]
//! async fn price(shop: &Faults) -> Result<u32, Stopped> {
//!     shop.around(async { Ok(42) }).await
//! }
//!
//! #[deadline(budget = "200ms", reserve = "20ms")]
//! async fn answer(shop: &Faults) -> Result<u32, Stopped> {
//!     match price(shop).await {
//!         Err(stopped) if stopped.cause() == Cause::DependencyTimeout => price(shop).await,
//!         other => other,
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let ms = Duration::from_millis;
//! let request = Context::root("request", Budget::new(ms(150)));
//!
//! // The first call hangs, the second is slow but in time.
//! let shop = Faults::script([Fault::Hang, Fault::Delay(ms(30))]);
//! let (took, outcome) = elapsed_of(request.run(answer(&shop))).await;
//! assert_eq!(outcome.unwrap().unwrap(), 42);
//! assert_eq!(took, ms(110));
//! assert_eq!(shop.injected().hung, 1);
//!
//! // What is left of the request is too little for another: 40 ms less the reserve.
//! let shop = Faults::script([Fault::Hang]);
//! let outcome = request.run(answer(&shop)).await.unwrap();
//! assert_stopped(&outcome).cause(Cause::DeadlineExceeded).limited_by("request");
//! assert_nothing_left(&request);
//! # }
//! ```
//!
//! # The traps of a paused clock
//!
//! * It jumps to the next timer whenever everything waits, also while a socket, a file, a thread or a blocking task is outstanding: the
//!   deadline then expires at once. Pause it for logic only; in helpers with real I/O call [`needs_real_time`].
//! * It does not move while code computes: use [`run_ticking`] for loops and [`pass`] for the rest.
//! * Timers have a resolution of one millisecond and round up: use whole milliseconds.
//! * It needs a current-thread runtime.

mod assert;
mod clock;
mod fault;
mod left;
mod run;
mod script;

pub use self::assert::{MayBeStopped, StopCheck, assert_stopped};
pub(crate) use self::clock::pass_unchecked;
pub use self::clock::{
    clock_is_paused, elapsed_of, needs_real_time, pass, run_until_idle, tick_per_checkpoint,
};
pub use self::fault::{Fault, Faults, Faulty, Injected, InjectedCounts};
#[cfg(feature = "http")]
pub use self::fault::{FaultLayer, FaultService};
pub use self::left::{
    Registered, assert_checkpoints, assert_idle, assert_nothing_left, checkpoints_passed,
    registered,
};
pub use self::run::{run_expired, run_stopped_at, run_ticking, run_with_budget};
pub use self::script::Script;
