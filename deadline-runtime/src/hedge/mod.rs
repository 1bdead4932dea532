//! Trying beside: another attempt of the same work while the first is still out.
//!
//! ```
//! use std::time::Duration;
//! use deadline_runtime::hedge::Hedge;
//! use deadline_runtime::{Stopped, deadline};
//!
//! /// A second attempt when the first has taken 50 ms.
//! const QUOTE: Hedge = Hedge::idempotent("quote", Duration::from_millis(50));
//!
//! #[deadline(budget = "300ms")]
//! async fn quote(symbol: &str) -> Result<u32, Stopped> {
//!     QUOTE.run(|attempt| ask(symbol, attempt.number)).await
//! }
//!
//! async fn ask(_symbol: &str, replica: u32) -> Result<u32, Stopped> {
//!     if replica == 1 {
//!         tokio::time::sleep(Duration::from_secs(1)).await;
//!     }
//!     Ok(42)
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! assert_eq!(quote("ACME").await.unwrap(), 42);
//! # }
//! ```
//!
//! # The rules
//!
//! | rule | from |
//! |---|---|
//! | Whatever is hedged may happen twice: [`Hedge::idempotent`] is the caller's word for that | gRPC A6 |
//! | Another attempt begins when the last one has been out for the delay, which is fixed or [a percentile](Hedge::percentile) of the latency that was seen | Dean and Barroso, "The Tail at Scale"; finagle |
//! | It begins at once when one has failed, and the next delay counts from there | gRPC A6, "hedging policy" |
//! | At most [`max_in_flight`](Hedge::max_in_flight) at a time, at most [`attempts`](Hedge::attempts) in all | |
//! | None begins unless `min_attempt + reserve` is left; equality runs | |
//! | The extra load is [bounded](HedgeBudget) over all calls to a dependency; the first attempt of a call is free | "The Tail at Scale": a few percent; finagle |
//! | The first *success* wins; one that failed first waits for the others | |
//! | Losers are stopped with `superseded`, see it in one last poll, and are gone before the winner's value is returned; [`join_losers`](Hedge::join_losers) waits until they have ended by themselves | |
//! | Attempts are siblings: what ends the losers does not reach the winner, whose answer may still be read | |
//!
//! What comes back when none succeeds is as for a retry: the last error as it is; or, when only time was wanting,
//! `E::from(Stopped)` with `local_budget_rejected`, the figures, and the last real error as its source.
//!
//! Attempts run inside the caller's task, one poll after the other: an attempt that computes for long holds the others up, and
//! [`run_spawned`](Hedge::run_spawned) gives each a task of its own.
//!
//! The figure that the future declares is that of its attempts, the longest of its branches; the delay before another one is not
//! part of it. Where that matters, put the whole under a `#[budget]`.

mod budget;
mod future;
mod latency;
mod policy;
mod spawned;

pub use self::budget::HedgeBudget;
pub use self::future::Hedging;
pub use self::latency::Latency;
pub use self::policy::{Hedge, Worth};
pub use self::spawned::Spawned;
pub use crate::attempt::Fault;
