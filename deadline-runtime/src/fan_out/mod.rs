//! Fan-out: several branches at once under one deadline, some of them optional, with a partial answer.
//!
//! ```
//! use std::time::Duration;
//! use deadline_runtime::fan_out::{fan_out, optional, required};
//! use deadline_runtime::{Cause, Stopped, deadline};
//! # use tokio::time::sleep;
//!
//! #[deadline(budget = "450ms")]
//! async fn load_profile(user: u32) -> Result<String, Stopped> {
//!     Ok(format!("user {user}"))
//! }
//!
//! #[deadline(budget = "600ms")]
//! async fn load_ads(user: u32) -> Result<Vec<u32>, Stopped> {
//!     sleep(Duration::from_secs(4)).await;
//!     Ok(vec![user])
//! }
//!
//! #[deadline(budget = "900ms", reserve = "100ms")]
//! async fn dashboard(user: u32) -> Result<String, Stopped> {
//!     let page = fan_out((
//!         required("profile", load_profile(user)),
//!         optional("ads", load_ads(user)).budget(Duration::from_millis(250)),
//!     ))
//!     .await?;
//!     let (profile, ads) = page.values;
//!     Ok(format!("{profile}, {} ads", ads.map_or(0, |ads| ads.len())))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! assert_eq!(dashboard(7).await.unwrap(), "user 7, 0 ads");
//! # }
//! ```
//!
//! # The rules
//!
//! | when | then |
//! |---|---|
//! | a branch begins | it is a scope of its own, named after the branch: what it calls sees the earlier of its cut-off ([`Branch::budget`]) and the deadline around |
//! | a branch is woken | that one is polled, and no other |
//! | a required branch fails, by its own error or by a stop | the others are stopped with `sibling_failed` and polled to their end (cleanup, bounded by their own limits); those not begun never begin; then the error is returned |
//! | another one fails meanwhile | the first error stays; of two that fail together that of the branch written first |
//! | an optional branch fails or is cut off | its value is the [`Missed`] with the cause; the branch stands in [`Gathered::missing`] and in [`Context::missing`](crate::Context::missing) |
//! | the deadline strikes | every branch is stopped. If all required ones have finished the result is what has finished, with what is missing |
//! | the request is cancelled | every branch is stopped with that cause |
//! | the future is dropped | every branch is dropped with it, inside its own context |
//! | nothing is enforced ([`Mode`](crate::Mode)) | cut-offs are not enforced either; after a failure the other branches are dropped, as `try_join!` does |
//!
//! Branches run in the task of whoever awaits the fan-out, so they may borrow; one that computes without an await holds the others
//! up, unless it is [`spawned`](Branch::spawned). What has finished is kept until the end, whatever happens to the others.
//!
//! A function around it with a reserve has that reserve to build the answer: branches end where its children end. In a function with
//! `cleanup` a fan-out is given its end within one poll, because the await itself is what hands the stop out there.
//!
//! The context is taken where [`fan_out`] is called, the cut-offs count from where a branch begins.
//!
//! # What the compiler counts
//!
//! A fan-out counts as much as its longest branch, and a list of branches as much as one:
//!
//! | a branch with | counts |
//! |---|---|
//! | the future of an annotated function | what that declares |
//! | [`capped`](Branch::capped) | that cap, whatever the future is |
//! | [`budget`](Branch::budget) | nothing: it is known at run time only |
//! | any other future | nothing, and neither does the fan-out that it is part of: cap it, or put `#[budget("…")]` on the statement |
//!
//! ```compile_fail
//! use deadline_runtime::fan_out::{fan_out, required};
//! use deadline_runtime::{Stopped, deadline};
//!
//! #[deadline(budget = "450ms")]
//! async fn load(user: u32) -> Result<u32, Stopped> {
//!     Ok(user)
//! }
//!
//! // Needs 450ms and 100ms.
//! #[deadline(budget = "500ms", reserve = "100ms")]
//! async fn both(user: u32) -> Result<u32, Stopped> {
//!     let page = fan_out((required("one", load(user)), required("two", load(user)))).await?;
//!     Ok(page.values.0 + page.values.1)
//! }
//! ```
//!
//! A list with [`at_most`](FanOut::at_most) counts one round of it.

mod branch;
mod errors;
mod future;
mod gathered;
mod lane;
mod lanes;
mod spawned;
mod tuple;
mod wake;

pub use self::branch::{
    AtRunTime, Branch, ByCallee, Capped, Counts, Kind, Need, Optional, Required, branch, optional,
    required,
};
pub use self::future::{FanOut, fan_out, fan_out_all};
pub use self::gathered::{Gathered, Missed};
pub use self::lanes::{Each, Lanes};
pub use self::spawned::Spawned;
pub use self::tuple::Branches;
