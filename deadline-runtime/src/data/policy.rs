//! [`Policy`]: the figures of a database.

use std::time::Duration;

/// The figures by which transactions are begun, committed and cleaned up.
///
/// ```
/// use std::time::Duration;
/// use deadline_runtime::data::Policy;
///
/// let policy = Policy::new()
///     .begin_min(Duration::from_millis(10))
///     .cleanup(Duration::from_millis(500));
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a policy does nothing until a pool is built with it"]
pub struct Policy {
    pub(crate) begin_min: Duration,
    pub(crate) commit_min: Duration,
    pub(crate) cleanup: Duration,
    pub(crate) connect: Duration,
    pub(crate) lock_wait: Option<Duration>,
    pub(crate) resolvable: bool,
    pub(crate) attempts: u32,
}

impl Policy {
    /// Begin with 5 ms left and commit with 5 ms left or more, clean up within 1 s, connect within 5 s, no limit of
    /// its own for waiting on locks, commits that can be resolved, and at most 5 attempts of a transaction.
    pub const fn new() -> Self {
        Self {
            begin_min: Duration::from_millis(5),
            commit_min: Duration::from_millis(5),
            cleanup: Duration::from_secs(1),
            connect: Duration::from_secs(5),
            lock_wait: None,
            resolvable: true,
            attempts: 5,
        }
    }

    /// With less left no transaction is begun; at least a millisecond.
    pub const fn begin_min(mut self, least: Duration) -> Self {
        self.begin_min = least;
        self
    }

    /// With less left no commit is started; at least a millisecond. Make it what a commit takes at bad times: a
    /// commit that is under way when the deadline passes has an unknown outcome.
    pub const fn commit_min(mut self, least: Duration) -> Self {
        self.commit_min = least;
        self
    }

    /// What cancelling, rolling back and handing back a connection may take after a stop; then the connection is
    /// closed. The stopped caller does not wait for it.
    pub const fn cleanup(mut self, most: Duration) -> Self {
        self.cleanup = most;
        self
    }

    /// What opening or testing a connection may take, and what beginning on it may, whoever waits for it: a
    /// connection whose waiter has left goes to the next one instead of being thrown away.
    pub const fn connect(mut self, most: Duration) -> Self {
        self.connect = most;
        self
    }

    /// The most a statement waits for one lock (`lock_timeout`), within what is left. Without it only what is left
    /// counts.
    pub const fn lock_wait(mut self, most: Duration) -> Self {
        self.lock_wait = Some(most);
        self
    }

    /// Whether the id of a transaction is read before its commit, which costs one round trip and makes it possible to
    /// find out later what became of a commit whose answer was lost.
    pub const fn resolvable(mut self, resolvable: bool) -> Self {
        self.resolvable = resolvable;
        self
    }

    /// How often a transaction that the server could not serialize is tried, the first time included; at least once.
    pub const fn attempts(mut self, most: u32) -> Self {
        self.attempts = most;
        self
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}
