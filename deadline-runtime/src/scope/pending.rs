//! What a pending scope needs to be woken, and what it tells the scope around it.

use std::sync::Arc;
use std::task;

use super::driver::Driver;
use super::life::Turn;
use super::state::{Flag, Flags, Phase, State};
use crate::context::current::{self, Frame, FrameId, Stack};
use crate::context::node::Node;
use crate::stop::Cause;
use crate::time::Deadline;

/// What has to be set, once the stack is out of hand, for the task to be woken in time.
#[derive(Default)]
pub(super) struct Wake {
    /// At once: one turn of the scheduler.
    again: bool,
    /// There is something to set, or to take back.
    drive: bool,
    alarm: Option<Deadline>,
    /// The scope's own node may be cancelled, and nobody around it watches.
    watch: bool,
    also: Option<Arc<Node>>,
}

impl State {
    pub(super) fn driver(&mut self) -> &mut Driver {
        self.driver.get_or_insert_with(|| Driver::new(false))
    }

    /// One turn of the scheduler. Whoever yields inside has woken its own waker, which need not be this one.
    pub(super) fn come_again(&mut self, frame: &mut Frame, outer: Option<&mut Frame>) -> Turn {
        match self.wait(frame, outer, None) {
            Turn::Wait(wake) => Turn::Wait(Some(Wake {
                again: true,
                ..wake.unwrap_or_default()
            })),
            turn => turn,
        }
    }

    /// Goes on waiting where it has but to be woken in time: there is no stop, and nothing inside holds or yields. `None` where
    /// more than that has to be seen to, and nothing has been done.
    #[inline(always)]
    pub(super) fn pend_plainly(&mut self, frames: &mut Stack) -> Option<Turn> {
        const OTHER: [Flag; 3] = [Flag::Shield, Flag::Told, Flag::Always];
        let (frame, outer) = frames.top_two(FrameId::of(self))?;
        if self.phase != Phase::Running
            || self.flags.any(Flags::of(OTHER))
            || !frame.seen.is_plain()
        {
            return None;
        }
        let slack = match (self.operation, &frame.node) {
            (Some(operation), _) => operation.figures.slack,
            (None, Some(node)) => node.operation.figures.slack,
            (None, None) => return None,
        };
        let end = frame.ends_by_clock()?.later(slack).min(self.hard?);
        let now = *frame.seen.now.get_or_insert_with(Deadline::now);
        if end <= now {
            return None;
        }
        let wake_at = frame.seen.wake_at.map_or(end, |at| at.min(end));
        let wake = match outer {
            // Whoever is around it has the timer, and watches the node.
            Some(outer) if outer.poller == frame.poller => {
                let same = match (&outer.node, &frame.node) {
                    (Some(outer), Some(own)) => Arc::ptr_eq(outer, own),
                    _ => false,
                };
                if !same || self.driver.is_some() {
                    return None;
                }
                outer.seen.now = Some(now);
                outer.seen.at = outer.seen.at.or(frame.seen.at);
                outer.seen.wake_at = Some(outer.seen.wake_at.map_or(wake_at, |at| at.min(wake_at)));
                None
            }
            Some(outer) if outer.poller.task == frame.poller.task => return None,
            _ => {
                let owns = frame.owns_node;
                let watched = |node: &Arc<Node>| !owns || node.can_be_cancelled();
                Some(Wake {
                    again: false,
                    drive: true,
                    alarm: Some(wake_at),
                    watch: frame.node.as_ref().is_some_and(watched),
                    also: None,
                })
            }
        };
        self.take_back(frame);
        frames.pop_emptied();
        Some(Turn::Wait(wake))
    }

    /// Sees to it that the task is woken at `own` at the latest and by a cancel, and tells the outer scope what it
    /// needs to know.
    #[inline]
    pub(super) fn wait(
        &mut self,
        frame: &mut Frame,
        outer: Option<&mut Frame>,
        own: Option<Deadline>,
    ) -> Turn {
        let seen = &frame.seen;
        let wake_at = Deadline::earlier(own, seen.wake_at);
        let shielded = if self.flags.has(Flag::Shield) {
            self.hard
        } else {
            None
        };
        let hold = seen.hold.max(shielded);
        let tells = hold.is_some();
        let mut timed = false;
        let mut watched = false;
        let around = outer.is_some();
        if let Some(outer) = outer {
            outer.seen.yielding |= seen.yielding;
            outer.seen.now = seen.now.or(outer.seen.now);
            outer.seen.at = outer.seen.at.or(seen.at);
            timed = outer.poller == frame.poller;
            if timed {
                outer.seen.wake_at = Deadline::earlier(outer.seen.wake_at, wake_at);
                outer.seen.hold = outer.seen.hold.max(hold);
            } else {
                outer.seen.held = outer.seen.held.max(hold);
            }
            let told = self.flags.has(Flag::Told);
            outer.seen.holders += i32::from(tells && !timed) - i32::from(told);
            watched = timed
                && match (&outer.node, &self.node) {
                    (Some(outer), Some(own)) => Arc::ptr_eq(outer, own),
                    (None, None) => true,
                    _ => false,
                };
        }
        self.flags.set(Flag::Told, tells && around && !timed);
        let alarm = if timed { None } else { wake_at };
        let (mut watch, mut also) = (false, None);
        if !watched && self.mode().enforces() {
            // A node of this scope's own that nobody has a handle of is never cancelled.
            watch = self
                .node
                .as_ref()
                .is_some_and(|node| !self.flags.has(Flag::OwnsNode) || node.can_be_cancelled());
            also = frame.also.take();
        }
        let drive = alarm.is_some() || watch || also.is_some() || self.driver.is_some();
        Turn::Wait(drive.then_some(Wake {
            again: false,
            drive,
            alarm,
            watch,
            also,
        }))
    }

    /// Sets what [`wait`](Self::wait) found to be needed.
    #[inline]
    pub(super) fn arm(&mut self, wake: &Wake, cx: &mut task::Context<'_>) {
        if wake.again {
            cx.waker().wake_by_ref();
        }
        if wake.drive {
            // A scope that has ended and waits for its tasks is not concerned by a cancel.
            let noticed = self.cause.is_some() || self.phase == Phase::Leaving;
            let node = self.node.as_ref().filter(|_| wake.watch);
            self.driver
                .get_or_insert_with(|| Driver::new(wake.alarm.is_some()))
                .wait(wake.alarm, node, wake.also.as_ref(), noticed, cx);
        }
    }

    /// What holds inside, whether it was polled just now or not.
    #[inline]
    pub(super) fn note_holders(&mut self, frame: &mut Frame) {
        let (change, held) = (frame.seen.holders, frame.seen.held);
        if change != 0 || held.is_some() {
            self.driver().note_holders(change, held);
        }
        if let Some(driver) = &self.driver {
            frame.seen.hold = frame.seen.hold.max(driver.held());
        }
    }

    /// Whose limit ended something inside: this scope's own, or one further out, which is then told.
    #[inline]
    pub(super) fn note_limit_hit(&mut self, frame: &Frame, outer: Option<&mut Frame>) {
        let hit = frame.seen.limit_hit;
        if hit.is_none() {
            return;
        }
        if self.flags.has(Flag::Binds) && hit == self.limits().soft {
            self.flags.set(Flag::OwnLimitHit, true);
        } else if let Some(outer) = outer {
            outer.note_limit_hit(hit);
        }
    }

    pub(super) fn report_limit_hit(&self, cause: Cause) {
        let by_limit = match cause {
            Cause::DeadlineExceeded | Cause::LocalBudgetRejected => true,
            Cause::DependencyTimeout => self.flags.has(Flag::Part),
            _ => false,
        };
        if by_limit && !self.flags.has(Flag::Binds) {
            current::with(|outer| outer.note_limit_hit(self.hard));
        }
    }
}
