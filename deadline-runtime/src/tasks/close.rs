//! [`Close`]: how a scope leaves what it has spawned.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use tokio::task::JoinHandle;

use super::crew::{Crew, SETTLE};
use super::error::Payload;
use super::reaper;
use crate::context::node::Node;
use crate::stop::Cause;
use crate::time::Deadline;

/// How often a scope looks for something that was attached while it was closing.
const ROUNDS: u8 = 8;

/// Everything that a scope has to wait for when it ends; what is not done when it is dropped goes on without it.
pub(crate) struct Close {
    nodes: [Option<Arc<Node>>; 2],
    cause: Cause,
    crews: Vec<Crew>,
    reapers: Vec<JoinHandle<()>>,
    /// Until when reapers are waited for: they have ends of their own, but nobody waits beyond the scope's.
    until: Deadline,
    rounds: u8,
    panic: Option<Payload>,
}

impl Close {
    pub(crate) fn of(nodes: [Option<Arc<Node>>; 2], cause: Cause) -> Self {
        let mut close = Self {
            cause,
            crews: Vec::new(),
            reapers: Vec::new(),
            until: end_of(&nodes),
            nodes,
            rounds: ROUNDS,
            panic: None,
        };
        close.collect();
        close
    }

    /// Takes what is attached and begins to close it.
    fn collect(&mut self) {
        for node in self.nodes.iter().flatten() {
            let taken = node.attached(|parts| {
                let crews = std::mem::take(&mut parts.crews);
                let reapers = std::mem::take(&mut parts.reapers);
                (crews, reapers, parts.panic.take())
            });
            let Some((crews, reapers, panic)) = taken else {
                continue;
            };
            self.panic = self.panic.take().or(panic);
            self.reapers.extend(reapers);
            for mut crew in crews {
                // Outside the lock: it wakes.
                crew.close(self.cause);
                self.crews.push(crew);
            }
        }
    }

    pub(crate) fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        loop {
            let panic = &mut self.panic;
            self.crews.retain_mut(|crew| {
                let over = crew.poll_close(cx).is_ready();
                if over {
                    *panic = panic.take().or_else(|| crew.take_panic());
                }
                !over
            });
            self.reapers
                .retain_mut(|reaper| Pin::new(reaper).poll(cx).is_pending());
            if !self.crews.is_empty() {
                return Poll::Pending;
            }
            if !self.reapers.is_empty() {
                if Deadline::now() < self.until {
                    return Poll::Pending;
                }
                self.reapers.clear();
            }
            // A task that was dropped may have left tasks of its own behind.
            if self.rounds == 0 {
                return Poll::Ready(());
            }
            self.rounds -= 1;
            self.collect();
            if self.crews.is_empty() && self.reapers.is_empty() {
                return Poll::Ready(());
            }
        }
    }

    /// When it has to be polled again at the latest.
    pub(crate) fn due(&self) -> Option<Deadline> {
        let crews = self.crews.iter().filter_map(Crew::due).min();
        crews.or(Some(self.until))
    }

    pub(crate) fn take_panic(&mut self) -> Option<Payload> {
        self.panic.take()
    }
}

/// The end of the grace, or the hard end of the scope.
fn end_of(nodes: &[Option<Arc<Node>>; 2]) -> Deadline {
    let mut until = Deadline::now();
    if let Some(node) = nodes.iter().flatten().next() {
        until = until.plus(node.grace());
        if let Some(hard) = node.limits.hard {
            until = until.min(hard);
        }
        until = node.closes_by(until);
    }
    until.plus(SETTLE)
}

impl Drop for Close {
    fn drop(&mut self) {
        let above = self
            .nodes
            .iter()
            .flatten()
            .last()
            .and_then(|node| node.parent());
        for crew in self.crews.drain(..) {
            reaper::hand_over(crew, self.cause, above);
        }
        if let Some(above) = above {
            for reaper in self.reapers.drain(..) {
                above.keep_reaper(reaper);
            }
        }
        if let Some(payload) = self.panic.take() {
            reaper::report(&*payload);
        }
    }
}
