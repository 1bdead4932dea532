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

/// Whether a test has told the request of `frame` what its checkpoints do: none may then be left out.
#[cfg(feature = "test-util")]
pub(crate) fn is_set(frame: &crate::context::current::Frame) -> bool {
    frame.node.as_ref().is_some_and(|node| {
        let trip = node.trip();
        trip.at.get().is_some() || trip.step.get().is_some()
    })
}

/// Whether a test has told a request what its checkpoints do.
#[cfg(not(feature = "test-util"))]
pub(crate) const fn is_set(_: &crate::context::current::Frame) -> bool {
    false
}
