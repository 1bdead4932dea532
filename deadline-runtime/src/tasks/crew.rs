//! [`Crew`]: tasks that are joined together, and the one way in which they are ended.
//!
//! ```text
//! Open ──close──▶ Joining ──end of grace──▶ Aborting ──end of settling──▶ given up: orphans
//!                    │                          │
//!                    ▼ all gone                 ▼ all gone
//!                  Closed                     Closed
//! ```
//!
//! Closing cancels first: the cause is recorded, then the flag, then they are woken. Tasks are scopes and end by that
//! themselves; the grace is for those that tidy up or are shielded. What is left is aborted, which takes effect the
//! next time it gives its thread away. What never does is given up: no wait is without a bound.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{self, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::error::Payload;
use super::roster::{Roster, Ticket};
use super::work::End;
use crate::context::node::Node;
use crate::scope::TARGET;
use crate::stop::Cause;
use crate::time::Deadline;

/// How long tasks that are being ended may tidy up, unless somebody says otherwise.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// How long an aborted task may take to let go. The scheduler needs one turn for that, on a busy machine several; it is the
/// only wait that may end after a hard deadline.
pub(super) const SETTLE: Duration = Duration::from_millis(5);

/// How many turns of the scheduler a cancelled task gets even where there is no time left: a scope ends by a last
/// poll and one turn more.
const TURNS: u8 = 3;

pub(crate) struct Crew {
    set: JoinSet<End>,
    roster: Arc<Roster>,
    /// What to cancel: that of a group, or one a task. Not held: the tasks do that, and a crew may be kept by the parent
    /// of these nodes.
    nodes: Vec<Weak<Node>>,
    grace: Duration,
    /// Nothing is waited for beyond it.
    hard: Option<Deadline>,
    closing: Option<Closing>,
    tally: Tally,
    /// The first one that nobody else was given. The lock is never taken: it makes the crew `Sync`.
    panic: Mutex<Option<Payload>>,
    runtime: Option<Handle>,
}

struct Closing {
    step: Step,
    until: Deadline,
    started: Deadline,
    /// What is left of [`TURNS`].
    turns: u8,
    lag: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Joining,
    Aborting,
    Over,
}

/// What became of the tasks so far.
#[derive(Default, Clone, Copy)]
pub(super) struct Tally {
    pub(super) finished: usize,
    pub(super) stopped: usize,
    pub(super) panicked: usize,
    pub(super) aborted: usize,
    pub(super) orphans: usize,
}

/// One task that was joined.
pub(super) enum Joined {
    /// It has delivered what came of it.
    Delivered,
    /// It was dropped before it could.
    Aborted,
    /// It broke where nothing of the user's runs.
    Broken(Payload),
}

impl Crew {
    /// Tasks for which nobody waits beyond `hard`.
    pub(super) fn new(hard: Option<Deadline>, grace: Duration) -> Self {
        Self {
            set: JoinSet::new(),
            roster: Arc::default(),
            nodes: Vec::new(),
            grace,
            hard,
            closing: None,
            tally: Tally::default(),
            panic: Mutex::default(),
            runtime: None,
        }
    }

    pub(super) fn set_grace(&mut self, grace: Duration) {
        self.grace = grace;
    }

    /// Something that has to be cancelled when the tasks are to end.
    pub(super) fn watch(&mut self, node: &Arc<Node>) {
        if self.nodes.len() > 8 + 2 * self.set.len() {
            self.nodes.retain(|node| node.strong_count() > 0);
        }
        self.nodes.push(Arc::downgrade(node));
    }

    fn live_nodes(&self) -> impl Iterator<Item = Arc<Node>> {
        self.nodes.iter().filter_map(Weak::upgrade)
    }

    pub(super) fn enter(&self, node: &Arc<Node>) -> Ticket {
        self.roster.enter(node)
    }

    pub(super) fn spawn(
        &mut self,
        runtime: &Handle,
        work: impl Future<Output = End> + Send + 'static,
    ) {
        self.runtime.get_or_insert_with(|| runtime.clone());
        self.set.spawn_on(work, runtime);
    }

    /// Tasks that have not been joined.
    pub(super) fn len(&self) -> usize {
        self.set.len()
    }

    pub(super) fn running(&self) -> usize {
        self.roster.running()
    }

    pub(super) fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref()
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// From the cancel to the end of the last one.
    pub(super) fn lag(&self) -> Duration {
        self.closing
            .as_ref()
            .map_or(Duration::ZERO, |closing| closing.lag)
    }

    pub(super) fn take_panic(&mut self) -> Option<Payload> {
        self.panic_mut().take()
    }

    fn panic_mut(&mut self) -> &mut Option<Payload> {
        self.panic.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_panic(&mut self, payload: Option<Payload>) {
        let first = self.panic_mut();
        *first = first.take().or(payload);
    }

    pub(super) fn poll_join(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Joined>> {
        self.set
            .poll_join_next(cx)
            .map(|next| next.map(|joined| self.joined(joined)))
    }

    /// One that is over by now.
    pub(super) fn try_join(&mut self) -> Option<Joined> {
        let joined = self.set.try_join_next()?;
        Some(self.joined(joined))
    }

    /// Joins those that are over, so that a crew which nobody closes does not collect them.
    pub(super) fn sweep(&mut self) {
        while let Some(joined) = self.set.try_join_next() {
            self.joined(joined);
        }
    }

    fn joined(&mut self, joined: Result<End, tokio::task::JoinError>) -> Joined {
        match joined {
            Ok(End::Finished) => self.tally.finished += 1,
            Ok(End::Stopped) => self.tally.stopped += 1,
            Ok(End::Panicked(payload)) => {
                self.tally.panicked += 1;
                self.keep_panic(payload);
            }
            Err(error) => {
                if let Ok(payload) = error.try_into_panic() {
                    self.tally.panicked += 1;
                    return Joined::Broken(payload);
                }
                self.tally.aborted += 1;
                return Joined::Aborted;
            }
        }
        Joined::Delivered
    }

    /// Open → Joining. What is closed already keeps its cause and its grace.
    pub(super) fn close(&mut self, cause: Cause) {
        if self.closing.is_some() {
            return;
        }
        let Some(now) = Deadline::now_if_any() else {
            return;
        };
        let mut step = Step::Joining;
        let mut until = now.plus(self.grace);
        if let Some(hard) = self.hard {
            until = until.min(hard);
        }
        for node in self.live_nodes() {
            // One grace for a whole tree that is being closed, not one a level.
            until = node.closes_by(until);
            // Before the cancel: whoever is woken by it finds the grace set.
            node.closing_by(until);
            node.cancel(cause);
            if !node.mode.enforces() {
                step = Step::Aborting;
            }
        }
        if step == Step::Aborting {
            // Nobody hears a cancel where nothing is enforced, and this end is the program's own wish.
            self.set.abort_all();
            until = now.plus(SETTLE);
        }
        self.closing = Some(Closing {
            step,
            until,
            started: now,
            turns: TURNS,
            lag: Duration::ZERO,
        });
    }

    /// When the next step of closing is due.
    pub(super) fn due(&self) -> Option<Deadline> {
        let closing = self.closing.as_ref()?;
        (closing.step != Step::Over).then_some(closing.until)
    }

    /// Goes on closing; ready when everything has ended or was given up. The caller sees to it that it is polled when
    /// the next step is [due](Self::due).
    pub(super) fn poll_close(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        loop {
            // No longer than what has ended by now takes.
            while let Poll::Ready(joined) = self.poll_join(cx) {
                match joined {
                    Some(Joined::Broken(payload)) => {
                        self.keep_panic(Some(payload));
                    }
                    Some(Joined::Delivered | Joined::Aborted) => {}
                    None => {
                        self.over(0);
                        return Poll::Ready(());
                    }
                }
            }
            let Some(closing) = &mut self.closing else {
                return Poll::Pending;
            };
            let now = Deadline::now();
            if now < closing.until {
                return Poll::Pending;
            }
            match closing.step {
                Step::Joining if closing.turns > 0 => {
                    closing.turns -= 1;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                // Joining → Aborting.
                Step::Joining => {
                    closing.step = Step::Aborting;
                    closing.until = now.plus(SETTLE);
                    self.set.abort_all();
                }
                // Aborting → given up.
                Step::Aborting => {
                    let orphans = self.give_up();
                    self.over(orphans);
                    return Poll::Ready(());
                }
                Step::Over => return Poll::Ready(()),
            }
        }
    }

    fn over(&mut self, orphans: usize) {
        self.tally.orphans += orphans;
        if let Some(closing) = &mut self.closing
            && closing.step != Step::Over
        {
            closing.step = Step::Over;
            closing.lag = Deadline::now().since(closing.started);
        }
    }

    /// What still runs is nobody's from here on.
    fn give_up(&mut self) -> usize {
        self.set.detach_all();
        let Some(node) = self.live_nodes().next() else {
            return 0;
        };
        let orphans = self.roster.give_up(&node);
        if orphans > 0 {
            let request_id = node.request_id();
            tracing::warn!(
                target: TARGET,
                op = node.parent_name(),
                orphans,
                request_id = request_id.as_deref().unwrap_or(""),
                "tasks still run after the scope that spawned them has ended"
            );
        }
        orphans
    }

    /// Lets the tasks run on, in modes where nothing is cut short.
    pub(super) fn let_run(mut self) {
        self.give_up();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Without anybody to join them: they are aborted, and count until they are gone.
        if self.set.is_empty() {
            return;
        }
        self.set.abort_all();
        if let Some(node) = self.live_nodes().next() {
            self.roster.give_up(&node);
        }
    }
}
