//! Counting checkpoints, for tests that stop a request at one of them. Nothing in other builds.

use crate::context::current::Frame;

#[cfg(any(test, feature = "test-util"))]
#[derive(Default)]
pub(crate) struct Trip {
    passed: std::sync::atomic::AtomicUsize,
    at: std::sync::OnceLock<(usize, crate::Cause)>,
}

#[cfg(any(test, feature = "test-util"))]
impl Trip {
    /// Cancels the request at the `at`-th checkpoint from now, counted from one.
    pub(crate) fn set(&self, at: usize, cause: crate::Cause) {
        let _ = self.at.set((at, cause));
    }

    pub(crate) fn passed(&self) -> usize {
        self.passed.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Called at every checkpoint: in a loop, before an await begins, at a guard.
#[inline(always)]
pub(crate) fn count(frame: &mut Frame) {
    #[cfg(any(test, feature = "test-util"))]
    if let Some(node) = &frame.node {
        let root = node.root_of();
        let passed = 1 + root
            .trip
            .passed
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if let Some((at, cause)) = root.trip.at.get() {
            if passed == *at {
                root.cancel(*cause);
            }
        }
    }
    #[cfg(not(any(test, feature = "test-util")))]
    let _ = frame;
}
