//! [`Admission`].

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::builder::{AdmissionBuilder, AdmissionError, Slots};
use super::enter::Enter;
use super::estimate::Estimate;
use super::slot::Slot;
use super::stats::{AdmissionStats, Counts};
use crate::context::Context;
use crate::stop::Limit;
use crate::time::Deadline;

/// A number of slots, and the line in front of them. Cheap to clone; every clone is the same admission.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::{Budget, Cause, Context};
/// use deadline_runtime::admission::Admission;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Ten connections, of which a report takes two at once: five reports.
/// let reports = Admission::for_pool("reports", 10, 2).queue(0).build()?;
/// assert_eq!(reports.stats().slots, 5);
///
/// let request = Context::root("report", Budget::new(Duration::from_secs(1)));
/// let five: Vec<_> = (0..5).map(|_| request.enter(|| reports.enter())).collect();
/// let mut held = Vec::new();
/// for enter in five {
///     held.push(enter.await?);
/// }
/// let refused = request.enter(|| reports.enter()).await.unwrap_err();
/// assert_eq!(refused.cause(), Cause::Overload);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Admission(Arc<Shared>);

pub(super) struct Shared {
    pub(super) limit: Limit,
    pub(super) slots: usize,
    pub(super) queue: usize,
    pub(super) max_wait: Duration,
    pub(super) min: Duration,
    pub(super) free: Arc<Semaphore>,
    pub(super) waiting: AtomicUsize,
    pub(super) counts: Counts,
    estimate: Mutex<Estimate>,
}

impl Admission {
    /// Describes an admission with so many slots. The name and the place of the call are what a refusal names.
    #[track_caller]
    pub fn builder(name: &'static str, slots: usize) -> AdmissionBuilder {
        AdmissionBuilder::new(name, Slots::Count(slots))
    }

    /// Describes one for what uses a pool of connections: no more at once than find theirs, because one that is let in and
    /// then waits for the pool waits twice, and two that each hold one and wait for another wait for ever.
    #[track_caller]
    pub fn for_pool(
        name: &'static str,
        connections: usize,
        per_request: usize,
    ) -> AdmissionBuilder {
        AdmissionBuilder::new(
            name,
            Slots::Pool {
                connections,
                per_request,
            },
        )
    }

    /// One with so many slots and the rest as it comes: ten for each slot in line, for at most a second.
    ///
    /// # Errors
    /// [`AdmissionError`] for no slot at all, or more than can be counted.
    #[track_caller]
    pub fn new(name: &'static str, slots: usize) -> Result<Self, AdmissionError> {
        Self::builder(name, slots).build()
    }

    pub(super) fn build(built: &AdmissionBuilder, slots: usize) -> Self {
        Self(Arc::new(Shared {
            limit: built.limit,
            slots,
            queue: built.queue.unwrap_or(slots.saturating_mul(10)),
            max_wait: built.max_wait,
            min: built.min,
            free: Arc::new(Semaphore::new(slots)),
            waiting: AtomicUsize::new(0),
            counts: Counts::default(),
            estimate: Mutex::new(Estimate::new(built.refuse_at_most)),
        }))
    }

    /// Takes a slot for the running scope, waiting for one under its deadline.
    ///
    /// The slot is held until it is dropped; tasks and blocking closures of the request that were started while it was held,
    /// and outlive it, hold it on. Nothing happens before the future is awaited.
    ///
    /// # Errors
    /// [`Stopped`](crate::Stopped) with `overload` in the phase `queue` when there is no slot in time, and
    /// [`needed`](crate::Stopped::needed) with the expected wait where that was the reason; the stop of the scope itself when
    /// that comes first.
    #[track_caller]
    pub fn enter(&self) -> Enter {
        Enter::new(self.clone(), Context::seen(), Location::caller())
    }

    /// What it holds and what it has done.
    #[must_use]
    pub fn stats(&self) -> AdmissionStats {
        let shared = self.shared();
        let in_use = shared.slots.saturating_sub(shared.free.available_permits());
        AdmissionStats::of(
            &shared.counts,
            shared.slots,
            in_use,
            shared.waiting.load(Ordering::Relaxed),
        )
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.0
    }

    pub(super) fn estimate(&self) -> MutexGuard<'_, Estimate> {
        self.0
            .estimate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot, if one is free and nobody waits for it.
    pub(super) fn take(&self, context: &Context, now: Deadline) -> Option<Slot> {
        let permit = self.0.free.clone().try_acquire_owned().ok()?;
        Some(self.slot(permit, context, now))
    }

    pub(super) fn slot(
        &self,
        permit: OwnedSemaphorePermit,
        context: &Context,
        now: Deadline,
    ) -> Slot {
        Slot::new(self.clone(), permit, context, now)
    }
}

/// `Admission(reports, 3 of 5 slots in use, 0 waiting)`
impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.stats();
        write!(
            f,
            "Admission({}, {} of {} slots in use, {} waiting)",
            self.0.limit.operation(),
            stats.in_use,
            stats.slots,
            stats.waiting
        )
    }
}
