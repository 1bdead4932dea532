//! The attribute macros of `deadline-runtime`. Depend on that crate, which re-exports them.
//!
//! An attribute goes through four stages, and data flows one way: `parse` reads tokens into options
//! that keep their spans, `model` says what is to be built, `check` collects everything that does
//! not fit, `expand` writes the code.

mod check;
mod duration;
mod entry;
mod expand;
mod faults;
mod model;
mod nearest;
mod parse;
#[cfg(test)]
mod snapshots;
mod syntax;

use proc_macro::TokenStream;

/// Runs an `async fn` under a deadline.
///
/// The function becomes a plain `fn` that returns its future. The future takes the deadline that is
/// in scope where the function is *called*, so it keeps it in `tokio::spawn(f(x))` as well, and its
/// own `budget` begins when it is first polled. The earlier of both ends it.
///
/// ```ignore
/// use deadline_runtime::{Stopped, deadline};
///
/// #[deadline(budget = "900ms", reserve = "100ms", min = "50ms")]
/// async fn dashboard(user: UserId) -> Result<Dashboard, AppError> {
///     let profile = load_profile(user).await?;
///     #[budget("250ms", fallback = Orders::unavailable())]
///     let orders = orders_client.recent(user).await?;
///     Ok(Dashboard::new(profile, orders))
/// }
/// ```
///
/// # Arguments
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `budget = "450ms"` | the most time the function may take; also a percentage of what the parent has left (`"40%"`) or the path of a `const` of type `Duration` | what the parent has left |
/// | `reserve = "100ms"` | the end of the budget that is kept to build and send an answer | none |
/// | `min = "20ms"` | refuse to start with less than this; also a percentage of the budget | 1 ms |
/// | `plan = "50ms"` | what a normal run takes: counts in the sums of callers instead of the budget | the budget |
/// | `cleanup = "50ms"` | the last slice of the budget, to tidy up in | none |
/// | `fallback = EXPR` | the value to return when stopped, or a closure that is called with the `Stopped`; needed when the function does not return a `Result` that can carry a stop | the error |
/// | `parent = cx` | run under this parameter (`Context` or `&Context`), which is the narrowed context in the body; `"required"`: refuse to run without any deadline | the ambient context |
/// | `bind = cx` | a variable with the narrowed context | nothing |
/// | `checkpoints = "auto"` | which checkpoints are inserted: `"auto"` (both), `"awaits"`, `"loops"`, `"off"` | `"auto"` |
/// | `name = "…"` | the operation's name in traces, metrics and overrides | the function's name |
/// | `allow_overcommit` | do not check that the sum of all calls fits the budget | checked |
/// | `audit` | warn where a stop would have no effect: `tokio::spawn`, `thread::sleep`, `block_on`, and a function without `await` and loop | no warnings |
/// | `keep_async` | keep `async fn` in the signature, as the default methods of traits need it; costs the figure in the type and the context of the call | a plain `fn` |
/// | `boxed` | box the body: of the same small size however deep the calls, and able to call itself; `boxed = "send"` makes it a `dyn Future + Send`, so that the types do not nest either, which needs a body that is `Send` and borrows from one place at most | not boxed |
/// | `crate = path` | where the runtime is, when it is renamed or re-exported | `::deadline_runtime` |
///
/// Durations are whole milliseconds with a unit: `ms`, `s`, `m`, `h`, also combined (`"1m 30s"`), up
/// to a year.
///
/// # Inside the function
///
/// | attribute | meaning |
/// |---|---|
/// | [`#[budget("250ms")]`](macro@budget) | everything awaited in this statement or expression shares the cap |
/// | [`#[shield("50ms")]`](macro@shield) | what is awaited is started only if that much is left, and then not stopped from outside |
/// | `#[checkpoint(off)]` | no checkpoint in this loop |
///
/// Every `await` asks first whether the scope has been stopped, and then does not start its future.
/// Every loop returns the stop at the begin of a round. Closures, nested async blocks and nested
/// items are left alone. So are the arguments of macros, apart from well-known ones such as `join!`,
/// `format!`, `vec!` and `assert_eq!`; what is awaited in them still ends with the function.
///
/// # Works on
///
/// Free functions and methods, also those of trait impls, above or below `#[async_trait]`,
/// `#[tracing::instrument]`, `#[tokio::main]` and `#[tokio::test]`. Under attribute macros that it
/// does not know it keeps the `async fn` of its own accord. A default method of a trait needs
/// `keep_async`: without it the other impls of the trait fail with E0053.
///
/// # Errors
///
/// All faults are reported at once, each at its literal: a duration without a unit, zero, not a whole
/// number of milliseconds, or over a year; figures and sums that do not fit; unknown and repeated
/// arguments; an attribute that covers no `await`. The function is emitted all the same.
#[proc_macro_attribute]
pub fn deadline(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::deadline(&args.into(), item.into()).into()
}

/// Puts checkpoints into the loops of a synchronous function that an annotated one calls.
///
/// Each round begins by asking the context of the caller, and returns its stop. The return type must
/// be able to carry it, like that of a function with [`#[deadline]`](macro@deadline).
///
/// ```ignore
/// #[checkpoint]
/// fn total(rows: &[Row]) -> Result<u64, AppError> {
///     let mut total = 0;
///     for row in rows {
///         total += row.amount()?;
///     }
///     Ok(total)
/// }
/// ```
///
/// `#[checkpoint(off)]` on a loop leaves that one alone. The only argument is `crate = path`, as in
/// `#[deadline]`.
///
/// # Errors
///
/// On an `async fn`, which takes `#[deadline]`, and on a `const fn`.
#[proc_macro_attribute]
pub fn checkpoint(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::checkpoint(args.into(), item.into()).into()
}

/// Caps a statement or an expression inside a function with [`#[deadline]`](macro@deadline).
///
/// Everything awaited in it shares the cap, which is a duration, a percentage or the path of a
/// `const` of type `Duration`.
///
/// ```ignore
/// #[budget("250ms", fallback = Orders::unavailable())]
/// let orders = orders_client.recent(user).await?;
///
/// #[budget("50ms", times = 10)]
/// for page in pages {
///     fetch(page).await?;
/// }
/// ```
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `fallback = EXPR` | the value of the whole statement when the cap is missed, or a closure that is called with the `Stopped` | the function returns the stop |
/// | `times = N` | on a loop: the cap is that of one round, and there are at most `N` | one cap for the whole loop |
///
/// # Errors
///
/// `#[deadline]` consumes the attribute. Anywhere else, in closures, in nested async blocks and on
/// what contains no `await`, it is an error that says where it belongs.
#[proc_macro_attribute]
pub fn budget(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::outside("budget", &args.into(), item.into()).into()
}

/// Protects a statement or an expression inside a function with [`#[deadline]`](macro@deadline).
///
/// Each future awaited in it is started only if that much time is left before the hard deadline. Then
/// it is not stopped from outside, only by its own bound.
///
/// ```ignore
/// #[shield("50ms")]
/// lease.release().await?;
/// ```
///
/// # Errors
///
/// `#[deadline]` consumes the attribute. Anywhere else, in closures, in nested async blocks and on
/// what contains no `await`, it is an error that says where it belongs.
#[proc_macro_attribute]
pub fn shield(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::outside("shield", &args.into(), item.into()).into()
}
