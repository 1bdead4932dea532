//! Counting checkpoints, for tests that stop a request at one of them or make each take its time. Nothing in other builds.

#[cfg(feature = "test-util")]
#[derive(Default)]
pub(crate) struct Trip {
    passed: std::sync::atomic::AtomicUsize,
    at: std::sync::OnceLock<(usize, crate::Cause)>,
    step: std::sync::OnceLock<std::time::Duration>,
}

#[cfg(feature = "test-util")]
impl Trip {
    /// Cancels the request at the `at`-th checkpoint from now, counted from one.
    pub(crate) fn set(&self, at: usize, cause: crate::Cause) {
        let _ = self.at.set((at, cause));
    }

    /// A loop checkpoint takes `step` of the paused clock.
    pub(crate) fn tick(&self, step: std::time::Duration) {
        let _ = self.step.set(step);
    }

    pub(crate) fn passed(&self) -> usize {
        self.passed.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// Called at every checkpoint: in a loop, before an await or an annotated function begins, at a guard.
#[cfg(feature = "test-util")]
pub(crate) fn count() {
    let due = crate::context::current::with(|frame| {
        let root = frame.node.as_ref()?.request();
        let passed = 1 + root
            .trip
            .passed
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (at, cause) = root.trip.at.get()?;
        (passed == *at).then(|| (root.clone(), *cause))
    });
    // Outside: it wakes, and a waker may ask for the context.
    if let Some((root, cause)) = due.flatten() {
        root.cancel(cause);
    }
}

/// Called at every checkpoint.
#[cfg(not(feature = "test-util"))]
pub(crate) const fn count() {}

/// Called at the checkpoints of loops, before the clock is read.
#[cfg(feature = "test-util")]
pub(crate) fn tick() {
    let step = crate::context::current::with(|frame| {
        let node = frame.node.as_ref()?;
        node.trip().step.get().copied()
    });
    if let Some(step) = step.flatten() {
        crate::test_util::pass_unchecked(step);
    }
}

/// Called at the checkpoints of loops.
#[cfg(not(feature = "test-util"))]
pub(crate) const fn tick() {}
