//! How the benchmarks measure, and nothing of what they measure.
//!
//! Ours and the yardstick run in turns within one run, and the fastest round of each counts: what is slower than that was
//! disturbed. A ratio is therefore steadier than the figures it is made of.
#![allow(
    clippy::cast_precision_loss,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    missing_docs,
    reason = "a harness for the files beside it"
)]

mod chart;
mod driven;
mod only;
mod table;
mod task;

pub use chart::{Line, draw};
pub use driven::{Pend, drive, runtime};
pub use only::{Only, only};
pub use table::{Allocations, Operation, Table, fastest};
pub use task::{in_poll, in_task};
