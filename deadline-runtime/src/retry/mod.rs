//! Trying again inside the deadline.
//!
//! ```
//! use std::time::Duration;
//! use deadline_runtime::retry::Retry;
//! use deadline_runtime::{Attempts, Stopped, deadline};
//!
//! /// Two attempts of 300 ms, at most 5 ms between them.
//! const FETCH: Retry<Attempts<2, 300, 5>> = Retry::idempotent("fetch").checked();
//!
//! #[deadline(budget = "700ms", reserve = "50ms")]
//! async fn profile(user: u32) -> Result<String, Stopped> {
//!     FETCH.run(|_| fetch(user)).await
//! }
//!
//! async fn fetch(user: u32) -> Result<String, Stopped> {
//!     Ok(format!("user {user}"))
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # assert_eq!(profile(7).await.unwrap(), "user 7");
//! # }
//! ```
//!
//! # The rules
//!
//! | rule | from |
//! |---|---|
//! | Whether an attempt may be repeated is said where the policy is made: [`Retry::idempotent`], or [`Retry::non_idempotent`], which repeats only what [surely was not sent](crate::Sent) | gRPC A6, "transparent retries" |
//! | An attempt begins only if `wait + min_attempt + reserve` is left, the first one too; equality runs | |
//! | Only one layer repeats: below an attempt, in this process or in the one that called it, a retry makes one attempt ([`under_a_retry`](Retry::under_a_retry) if it must not). Three layers of three attempts are three calls at the bottom and not 27 | gRPC A6, `grpc-previous-rpc-attempts` |
//! | Each attempt may take the least of [`attempt_cap`](Retry::attempt_cap) and of what is left before the reserve, worked out anew each time; it is a child scope, so that what it calls and sends on sees that figure | Envoy's `per_try_timeout` |
//! | A stop of the scope around (its deadline, a cancel) is never tried again, whatever the error calls it: decided by whose limit it is | |
//! | An attempt that used up its own cap is tried again if there is time; [`give_up_on_timeout`](Retry::give_up_on_timeout) if not | |
//! | The wait grows exponentially with full jitter and never overflows ([`Backoff`]) | gRPC A6; AWS |
//! | [`Retry-After` and its kin](Pushback) replace the wait; one that does not fit ends the retry at once, a negative one as well. `tonic::Status`, `reqwest::Error` and `http::Unavailable` know theirs ([`classified`](Retrying::classified)), and so does a stop that was made of one | gRPC A6, "pushback" |
//! | All calls to one dependency share a [`RetryBudget`]; only a retry takes from it | gRPC A6, "throttling"; finagle |
//!
//! # What comes back
//!
//! The attempts' own error type, so that `?` works as it does without a retry, for enums with `From<Stopped>` and for `anyhow` alike
//! (a type of our own around it would have to be converted by hand in every function, because no `From` can be written for all).
//!
//! | why there is no further attempt | returned |
//! |---|---|
//! | all were made, the error is not worth another, the dependency's budget is used up | the last error as it is |
//! | the next one would not fit | `E::from(Stopped)`: `local_budget_rejected`, [`needed`](crate::Stopped::needed) has the figures, [`source`](std::error::Error::source) is the last real error |
//! | the scope around was stopped | its stop, with the last real error as its source |
//!
//! So a retry that runs out of time ends where the next attempt would not fit, a little before the deadline, and says so with
//! `local_budget_rejected`: nothing was cut off. With `deadline_exceeded` it ends only if the deadline strikes in the middle of an attempt
//! or of a wait. Both are a 504, and no attempt begins after the deadline in either case.
//!
//! ```text
//! fetch refused after 2 attempts: local_budget_rejected: next attempt would not fit: needs 350ms, has 200ms, limited by profile (src/profile.rs:8)
//! ```
//!
//! # Checked when it compiles
//!
//! [`checked`](Retry::checked) puts the figures into the type; the sum of a function that awaits the retry then counts
//! attempts × each + waits:
//!
//! ```compile_fail
//! use deadline_runtime::retry::Retry;
//! use deadline_runtime::{Attempts, Stopped, deadline};
//!
//! const FETCH: Retry<Attempts<2, 300, 5>> = Retry::idempotent("fetch").checked();
//!
//! #[deadline(budget = "600ms")] // 605 are needed
//! async fn profile(user: u32) -> Result<u32, Stopped> {
//!     FETCH.run(|_| fetch(user)).await
//! }
//! # async fn fetch(user: u32) -> Result<u32, Stopped> { Ok(user) }
//! ```
//!
//! With `budget = "605ms"` it compiles:
//!
//! ```
//! # use deadline_runtime::retry::Retry;
//! # use deadline_runtime::{Attempts, Stopped, deadline};
//! # const FETCH: Retry<Attempts<2, 300, 5>> = Retry::idempotent("fetch").checked();
//! #[deadline(budget = "605ms")]
//! async fn profile(user: u32) -> Result<u32, Stopped> {
//!     FETCH.run(|_| fetch(user)).await
//! }
//! # async fn fetch(user: u32) -> Result<u32, Stopped> { Ok(user) }
//! ```
//!
//! Nor does a reserve that the sum leaves no room for, and three attempts of two seconds do not fit in two seconds:
//!
//! ```compile_fail
//! # use deadline_runtime::retry::Retry;
//! # use deadline_runtime::{Attempts, Stopped, deadline};
//! # const FETCH: Retry<Attempts<2, 300, 5>> = Retry::idempotent("fetch").checked();
//! #[deadline(budget = "605ms", reserve = "1ms")]
//! async fn profile(user: u32) -> Result<u32, Stopped> {
//!     FETCH.run(|_| fetch(user)).await
//! }
//! # async fn fetch(user: u32) -> Result<u32, Stopped> { Ok(user) }
//! ```
//!
//! ```compile_fail
//! # use deadline_runtime::retry::Retry;
//! # use deadline_runtime::{Attempts, Stopped, deadline};
//! const PATIENT: Retry<Attempts<3, 2_000>> = Retry::idempotent("fetch").checked();
//!
//! #[deadline(budget = "2s")]
//! async fn profile(user: u32) -> Result<u32, Stopped> {
//!     PATIENT.run(|_| fetch(user)).await
//! }
//! # async fn fetch(user: u32) -> Result<u32, Stopped> { Ok(user) }
//! ```
//!
//! A policy without `checked` declares nothing and counts nothing.

// How the figures could be written, and why they are as they are:
//
// * `Retry::<2, 300, 5>::idempotent().run(…)`: short, but three numbers without a name in every expression.
// * `Retry::idempotent().times::<2>().each_ms::<300>().waits_ms::<5>()`: named, but a policy with one of them missing has a figure
//   that is wrong, unless every step is a type of its own.
// * A macro, or a policy trait with constants: one more thing to learn, and a generic figure made from a trait's constants is not
//   possible on stable.
// * `const FETCH: Retry<Attempts<2, 300, 5>> = Retry::idempotent("fetch").checked();`: the figure is the crate's own word for it, stands once
//   beside the policy's name, is written by hand only there, and the rest is a plain builder with or without it.

mod advice;
mod backoff;
mod budget;
#[cfg(feature = "http")]
mod clients;
mod future;
mod policy;

pub use self::advice::{Advice, Pushback, Retryable};
pub use self::backoff::Backoff;
pub use self::budget::RetryBudget;
pub use self::future::{Judge, Retrying};
pub use self::policy::Retry;
pub use crate::attempt::Fault;
