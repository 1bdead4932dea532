//! Next to nothing ([`remote`] and [`budgets`], which the cases use across crates): the tests of this package are what it is for.
//!
//! * `shapes/`: functions that `#[deadline]` must leave as they are, run by `tests/shapes.rs` and, in other editions, by
//!   the packages `edition-2018` and `edition-2021`; counted by `tests/count.rs`.
//! * `tests/enforced.rs`: the budget is enforced, whatever stands above or below the attribute.
//! * `fail/`: what the attributes refuse and in which words, run by `tests/faults.rs`.
//! * `diagnostics/`: mistakes of users, shown where they would be shown without us, compared by `tests/diagnostics.rs`.
//! * `renamed/`: the runtime under another name and behind a facade.
//! * `fits/`: budgets that do not fit, and their neighbours that do, run by `tests/fits.rs`.

pub mod budgets;
pub mod remote;
