//! The locks and atomics of our own structures, so that loom can take their place.
//!
//! `RUSTFLAGS="--cfg deadline_loom" cargo test -p deadline-runtime --lib loom` runs every interleaving of the tests in
//! `context/interleavings.rs`. A name of our own, because tokio listens to `cfg(loom)` itself. Reference counts stay those of std:
//! loom has no weak ones, and takes them as they are.

#[cfg(not(deadline_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
#[cfg(not(deadline_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(deadline_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
#[cfg(deadline_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
