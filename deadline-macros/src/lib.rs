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
/// ```
/// use deadline_runtime::{Stopped, deadline};
///
/// #[deadline(budget = "900ms", reserve = "100ms", min = "50ms")]
/// async fn dashboard(user: u64) -> Result<Dashboard, AppError> {
///     let profile = load_profile(user).await?;
///     #[budget("250ms", fallback = Vec::new())]
///     let orders = recent_orders(user).await?;
///     Ok(Dashboard { profile, orders })
/// }
///
/// #[deadline(budget = "450ms")]
/// async fn load_profile(user: u64) -> Result<String, AppError> {
///     Ok(format!("user {user}"))
/// }
///
/// // Knows nothing of deadlines.
/// async fn recent_orders(user: u64) -> Result<Vec<u64>, AppError> {
///     Ok(vec![user])
/// }
///
/// struct AppError;
///
/// impl From<Stopped> for AppError {
///     fn from(_: Stopped) -> Self {
///         Self
///     }
/// }
///
/// struct Dashboard {
///     profile: String,
///     orders: Vec<u64>,
/// }
/// ```
///
/// # Arguments
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `budget = "450ms"` | the most time the function may take; also a percentage of what the parent has left (`"40%"`) or the path of a `const` of type `Duration` or `Budget` | what the parent has left |
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
/// to a year. The same range holds for a `const`, whose path may stand wherever a duration may.
///
/// # Inside the function
///
/// | attribute | on | meaning |
/// |---|---|---|
/// | [`#[budget("250ms")]`](macro@budget) | a statement or expression | everything awaited in it shares the cap |
/// | [`#[shield("50ms")]`](macro@shield) | a statement or expression | what is awaited is started only if that much is left, and then not stopped from outside |
/// | `#[checkpoint(off)]` | a loop | no checkpoint in it |
///
/// Every `await` asks first whether the scope has been stopped, and then does not start its future.
/// Its expression has been evaluated by then: a `spawn_blocking(…)` in it has begun. Every loop
/// returns the stop at the begin of a round.
///
/// Closures, nested async blocks and nested items are left alone. So are the arguments of macros,
/// apart from well-known ones such as `join!`, `format!`, `vec!` and `assert_eq!`; what is awaited in
/// them still ends with the function.
///
/// # Works on
///
/// Free functions and methods, also those of trait impls, above or below `#[async_trait]`,
/// `#[tracing::instrument]`, `#[tokio::main]` and `#[tokio::test]`. Under attribute macros that it
/// does not know it keeps the `async fn` and its parameters as they are, of its own accord. A default
/// method of a trait needs `keep_async`: without it the other impls of the trait do not compile, and rustc says so.
///
/// # Errors
///
/// All faults are reported at once, each at its place, and the function is emitted all the same:
///
/// * a duration without a unit, zero, not a whole number of milliseconds, or over a year, be it a
///   literal or a `const`;
/// * figures that do not fit: `reserve` and `cleanup` leave nothing to work with, `min` can never be
///   met, statements need more one after the other than the function has;
/// * an unknown, repeated or misplaced argument; a `fallback` closure that takes other than the
///   `Stopped` alone;
/// * an attribute that covers no `await`, or only what is left of an operator;
/// * a function that is no `async fn`, or a method without a body.
///
/// A return type that has no place for a stop is an error at that type.
#[proc_macro_attribute]
pub fn deadline(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::deadline(&args.into(), item.into()).into()
}

/// Puts checkpoints into the loops of a synchronous function that an annotated one calls.
///
/// Each round begins by asking the context of the caller, and returns its stop. The return type must
/// be able to carry it, like that of a function with [`#[deadline]`](macro@deadline).
///
/// Where rounds take less than a microsecond not every one reads the clock. A stop is seen within one
/// round if rounds cost what they have cost before (within 20 µs, if they are that short), and within one
/// round and about a millisecond if they suddenly cost more. The loops of an `async fn` are no different.
///
/// ```
/// use deadline_runtime::{Stopped, checkpoint};
///
/// #[checkpoint]
/// fn total(rows: &[u64]) -> Result<u64, Stopped> {
///     let mut total = 0;
///     for row in rows {
///         total += row;
///     }
///     Ok(total)
/// }
/// # assert_eq!(total(&[1, 2]).unwrap(), 3);
/// ```
///
/// # Arguments
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `crate = path` | where the runtime is, when it is renamed or re-exported | `::deadline_runtime` |
///
/// # Inside the function
///
/// `#[checkpoint(off)]` on a loop leaves that one alone. The same goes for the loops of an `async fn`
/// with `#[deadline]`.
///
/// # Errors
///
/// On an `async fn`, which takes `#[deadline]`; on a `const fn`; on what is no function with a body;
/// with `#[budget]` or `#[shield]` in the body, where nothing is awaited.
#[proc_macro_attribute]
pub fn checkpoint(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::checkpoint(args.into(), item.into()).into()
}

/// Caps a statement or an expression inside a function with [`#[deadline]`](macro@deadline).
///
/// Everything awaited in it shares the cap. When it is missed, the function returns the stop, or the
/// `fallback` takes the place of the statement's value.
///
/// ```
/// use deadline_runtime::{Stopped, deadline};
///
/// #[deadline(budget = "1s")]
/// async fn orders(user: u64) -> Result<Vec<u64>, Stopped> {
///     #[budget("250ms", fallback = Vec::new())]
///     let mut orders = recent(user).await?;
///
///     #[budget("50ms", times = 10)]
///     for page in 0..10 {
///         #[budget("20ms", fallback = continue)]
///         let more = older(user, page).await?;
///         orders.push(more);
///     }
///     Ok(orders)
/// }
/// # async fn recent(user: u64) -> Result<Vec<u64>, Stopped> { Ok(vec![user]) }
/// # async fn older(user: u64, page: u64) -> Result<u64, Stopped> { Ok(user + page) }
/// ```
///
/// # Arguments
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `"250ms"` | the cap, also a percentage of what is left (`"40%"`) or the path of a `const` of type `Duration` or `Budget` | must be given |
/// | `fallback = EXPR` | the value of the whole statement when the cap is missed, or a closure that is called with the `Stopped`; may also leave: `return …`, `continue`, `break` | the function returns the stop |
/// | `times = N` | on a loop: the cap is that of one round, and there are at most `N` | one cap for the whole loop |
///
/// # Where it goes
///
/// On a `let`, on an expression statement, on a block, on a loop, or in front of any expression. There
/// it binds like a minus sign: to the left side of an operator and of `=`. So put it on the whole
/// statement; `(#[budget("10ms")] a().await?) + b().await?` is for one operand alone.
///
/// Inside another `#[budget]` the earlier end holds. Inside a [`#[shield]`](macro@shield) it is an
/// error, because the shield is the only bound of what is awaited there.
///
/// # Errors
///
/// `#[deadline]` consumes the attribute. Anywhere else, in closures, in nested async blocks, in macros
/// that are not looked into and on what contains no `await`, it is an error that says where it belongs.
/// So are a cap above that of the function or of the budget around it, caps that need more one after
/// the other than the function has, `times` on what is no loop, and an attribute in front of an
/// operator with another `await` on its right side.
#[proc_macro_attribute]
pub fn budget(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::outside("budget", &args.into(), item.into()).into()
}

/// Protects a statement or an expression inside a function with [`#[deadline]`](macro@deadline).
///
/// Each future awaited in it is started only if that much time is left before the hard deadline. Then
/// it is not stopped from outside, only by its own bound.
///
/// ```
/// use deadline_runtime::{Stopped, deadline};
///
/// #[deadline(budget = "1s", reserve = "100ms")]
/// async fn renew(lease: Lease) -> Result<(), Stopped> {
///     let renewed = lease.renew().await;
///     #[shield("50ms")]
///     lease.release().await?;
///     renewed
/// }
/// # struct Lease;
/// # impl Lease {
/// #     async fn renew(&self) -> Result<(), Stopped> { Ok(()) }
/// #     async fn release(&self) -> Result<(), Stopped> { Ok(()) }
/// # }
/// ```
///
/// # Arguments
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `"50ms"` | the bound, also the path of a `const` of type `Duration` or `Budget` | must be given |
///
/// # Where it goes
///
/// As [`#[budget]`](macro@budget). A shield is entered before its expression is evaluated, so that the
/// calls in it already see the shielded context. Because no context stays entered across an `await`,
/// the expression cannot contain another one: bind the inner value by a `let` of its own first.
///
/// A `#[budget]` around it does not end it. Its bound may therefore not be longer than that budget, and
/// a shield that begins late runs past it by at most that bound.
///
/// # Errors
///
/// `#[deadline]` consumes the attribute. Anywhere else, in closures, in nested async blocks and on
/// what contains no `await`, it is an error that says where it belongs. So are a percentage, a bound
/// above that of the function or of the `#[budget]` around it, and another `#[budget]`, `#[shield]` or
/// `await` inside what it covers.
#[proc_macro_attribute]
pub fn shield(args: TokenStream, item: TokenStream) -> TokenStream {
    entry::outside("shield", &args.into(), item.into()).into()
}
