//! [`Job`]: one piece of work on a connection, as the thread that does it and the future that waits for it share it.
//!
//! ```text
//! Running ──the thread is about to commit──▶ Committing
//!    │
//!    └──────the waiter leaves──────────────▶ Left
//! ```
//!
//! One of the two happens first, and which one decides what the waiter can say: of work that was left while it was running
//! nothing has been committed, and nothing will be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::context::{Context, Mode};
use crate::data::bounds::Bounds;
use crate::stop::Cause;
use crate::time::Budget;

const RUNNING: u8 = 0;
const COMMITTING: u8 = 1;
const LEFT: u8 = 2;

pub(super) struct Job {
    /// Stopped with the call's context where that is enforced, and in any case when the waiter leaves.
    context: Context,
    state: AtomicU8,
}

impl Job {
    pub(super) fn of(bounds: &Bounds) -> Arc<Self> {
        let context = if bounds.enforced() {
            bounds.context().child(Budget::inherited())
        } else {
            let mut root = Context::builder("sqlite").mode(Mode::Enforce);
            if let Some(id) = bounds.context().request_id() {
                root = root.request_id(id);
            }
            root.build()
        };
        Arc::new(Self {
            context,
            state: AtomicU8::new(RUNNING),
        })
    }

    /// Does the work with the context as the ambient one, where the hooks of the connection find it.
    pub(super) fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        self.context.enter(work)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.context.cause().is_some()
    }

    /// Asked when a commit has waited for what it had to wait for, and before anything of it is durable.
    pub(super) fn may_commit(&self) -> bool {
        if self.is_stopped() {
            return false;
        }
        let first =
            self.state
                .compare_exchange(RUNNING, COMMITTING, Ordering::AcqRel, Ordering::Acquire);
        // A closure may commit several times, one statement after the other.
        matches!(first, Ok(_) | Err(COMMITTING))
    }

    /// The waiter leaves. True if nothing has been committed, and nothing will be.
    fn leave(&self) -> bool {
        let first = self
            .state
            .compare_exchange(RUNNING, LEFT, Ordering::AcqRel, Ordering::Acquire);
        self.context.cancel(Cause::Abandoned);
        matches!(first, Ok(_) | Err(LEFT))
    }

    pub(super) fn has_begun_to_commit(&self) -> bool {
        self.state.load(Ordering::Acquire) == COMMITTING
    }
}

/// The waiter of a job, which leaves it when it is dropped.
pub(super) struct Waiter(Option<Arc<Job>>);

impl Waiter {
    pub(super) fn of(job: &Arc<Job>) -> Self {
        Self(Some(job.clone()))
    }

    /// See [`Job::leave`].
    pub(super) fn leave(mut self) -> bool {
        self.0.take().is_none_or(|job| job.leave())
    }

    /// The job is done.
    pub(super) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(job) = self.0.take() {
            job.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn job(left: u64) -> (Context, Arc<Job>) {
        let cx = Context::root("pay", Budget::new(Duration::from_millis(left)));
        let job = Job::of(&Bounds::of(cx.clone()));
        (cx, job)
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_comes_first_decides_whether_it_commits() {
        let (_cx, left) = job(100);
        assert!(left.leave());
        assert!(!left.may_commit());
        assert!(left.is_stopped());

        let (_cx, committing) = job(100);
        assert!(committing.may_commit());
        assert!(committing.may_commit());
        assert!(!committing.leave());
        assert!(!committing.may_commit());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_committed_at_the_deadline_or_after_a_cancel() {
        let (_cx, late) = job(100);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!late.may_commit());
        assert!(late.leave());

        let (cx, cancelled) = job(100);
        cx.cancel(Cause::ClientCancelled);
        assert!(!cancelled.may_commit());
    }

    #[tokio::test(start_paused = true)]
    async fn where_nothing_is_enforced_only_the_waiter_stops_it() {
        let cx = Context::builder("pay")
            .budget(Budget::new(Duration::from_millis(1)))
            .mode(Mode::Observe)
            .request_id("r1")
            .build();
        let job = Job::of(&Bounds::of(cx.clone()));
        tokio::time::sleep(Duration::from_millis(5)).await;
        cx.cancel(Cause::ClientCancelled);
        assert!(job.may_commit());
        let seen = job.enter(|| Context::current().request_id());
        assert_eq!(seen.as_deref(), Some("r1"));
        drop(Waiter::of(&job));
        assert!(job.is_stopped());
    }
}
