//! [`Frame`]: the context of the code that is running on this thread right now.
//!
//! A scope owns its frame and puts it in place for the length of one poll; what was there before lies on the
//! stack of that poll and comes back when it ends, also by a panic. So the frames of a thread form a stack, and
//! a `LocalSet` or `block_on` that runs other tasks inside a poll cannot mix them up: a frame is only believed
//! by the task it was made for.
//!
//! What a scope needs from the ones inside it (when to wake, until when a shield holds) goes up through the
//! frame as well: it is reported to the outer frame when the inner poll is over.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

use tokio::task::Id;

use super::mode::Mode;
use super::node::{Limits, Node, Request, Seed};
use crate::scope::Operation;
use crate::stop::{Cause, Details, Limit, PathEntry, Phase, Stopped};
use crate::time::Deadline;

pub(crate) struct Frame {
    /// `None` only in an outermost scope whose context nobody has asked for yet.
    pub(crate) node: Option<Arc<Node>>,
    /// The polling request's node when it is another request than the scope's own.
    pub(crate) also: Option<Arc<Node>>,
    pub(crate) limits: Limits,
    /// Whose limit binds: a scope's, or `None` for that of the node.
    pub(crate) owner: Option<&'static Operation>,
    /// The scope itself; `None` for one made by hand, which the node describes.
    pub(crate) operation: Option<&'static Operation>,
    /// Whether the scope's own budget is the binding one, strictly shorter than what it inherited.
    pub(crate) binds: bool,
    /// Whether `node` was made for this very scope.
    pub(crate) owns_node: bool,
    pub(crate) depth: usize,
    pub(crate) started: Deadline,
    pub(crate) mode: Mode,
    pub(crate) poller: Poller,
    /// The stop that is being delivered to the body.
    pub(crate) stop: Option<Cause>,
    /// How often guards have handed a stop to the body of this scope.
    pub(crate) deliveries: u32,
    pub(crate) seen: Seen,
}

/// What one poll left behind for the scope itself and for those around it.
#[derive(Default)]
pub(crate) struct Seen {
    /// The earliest limit inside that has no timer of its own.
    pub(crate) wake_at: Option<Deadline>,
    /// Until when a shielded piece of work inside may go on.
    pub(crate) hold: Option<Deadline>,
    /// A scope inside has yielded to catch a value that is one task-hop away.
    pub(crate) yielding: bool,
    /// The clock, as the innermost scope read it when everything inside was pending.
    pub(crate) now: Option<Deadline>,
    /// The last await that was seen pending.
    pub(crate) at: Option<&'static Location<'static>>,
    /// How many calls were refused before they started.
    pub(crate) refusals: u32,
    /// The limit by which a scope inside was ended.
    pub(crate) limit_hit: Option<Deadline>,
}

/// Who polls: the task, and the waker by address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Poller {
    pub(crate) task: Option<Id>,
    waker: (usize, usize),
}

impl Poller {
    pub(crate) fn new(waker: &Waker) -> Self {
        // Only compared while the outer poll still borrows its waker, so an address cannot have been reused.
        Self {
            task: tokio::task::try_id(),
            waker: (
                waker.data().addr(),
                std::ptr::from_ref(waker.vtable()).addr(),
            ),
        }
    }

    /// Code that runs outside any poll, as in [`Context::enter`](crate::Context::enter).
    pub(crate) fn none() -> Self {
        Self {
            task: tokio::task::try_id(),
            waker: (0, 0),
        }
    }
}

struct Local {
    frame: Option<Frame>,
    path: Vec<PathEntry>,
}

thread_local! {
    static CURRENT: RefCell<Local> = const { RefCell::new(Local { frame: None, path: Vec::new() }) };
}

/// A frame in place; the one before it comes back when this is left or dropped.
#[must_use]
pub(crate) struct Entered {
    previous: Option<Frame>,
    left: bool,
}

pub(crate) fn enter(frame: Frame) -> Entered {
    let entry = PathEntry {
        operation: frame.operation().name,
        hard: frame.limits.hard,
    };
    let previous = CURRENT
        .try_with(|local| {
            let mut local = local.borrow_mut();
            local.path.push(entry);
            local.frame.replace(frame)
        })
        .unwrap_or_default();
    Entered {
        previous,
        left: false,
    }
}

impl Entered {
    /// Takes the frame out again, with what the poll left in it.
    pub(crate) fn leave(mut self) -> Option<Frame> {
        self.left = true;
        self.swap()
    }

    fn swap(&mut self) -> Option<Frame> {
        let previous = self.previous.take();
        CURRENT
            .try_with(|local| {
                let mut local = local.borrow_mut();
                local.path.pop();
                std::mem::replace(&mut local.frame, previous)
            })
            .unwrap_or_default()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if !self.left {
            drop(self.swap());
        }
    }
}

/// Runs `read` on the frame of the running task; `None` outside any scope.
pub(crate) fn with<R>(read: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    CURRENT
        .try_with(|local| {
            let mut local = local.borrow_mut();
            let frame = local.frame.as_mut()?;
            (frame.poller.task == tokio::task::try_id()).then(|| read(frame))
        })
        .ok()
        .flatten()
}

/// As [`with`], for code that makes an error and needs the path of scopes for it.
pub(crate) fn with_path<R>(read: impl FnOnce(&mut Frame, &[PathEntry]) -> R) -> Option<R> {
    CURRENT
        .try_with(|local| {
            let Local { frame, path } = &mut *local.borrow_mut();
            let frame = frame.as_mut()?;
            (frame.poller.task == tokio::task::try_id()).then(|| read(frame, path))
        })
        .ok()
        .flatten()
}

/// The scopes that are being polled on this thread, outermost first.
pub(crate) fn path() -> Vec<PathEntry> {
    CURRENT
        .try_with(|local| local.borrow().path.clone())
        .unwrap_or_default()
}

/// What a scope inherits from the context it is created or polled in.
#[derive(Clone)]
pub(crate) struct Inherited {
    pub(crate) node: Arc<Node>,
    pub(crate) soft: Option<Deadline>,
    pub(crate) owner: Option<&'static Operation>,
    pub(crate) depth: usize,
}

/// The ambient context, for whoever is about to run inside it.
pub(crate) fn inherit() -> Option<Inherited> {
    with(Frame::inherited)
}

impl Frame {
    pub(crate) fn operation(&self) -> &Operation {
        match (self.operation, &self.node) {
            (Some(operation), _) => operation,
            (None, Some(node)) => &node.operation,
            (None, None) => &Operation::UNNAMED,
        }
    }

    /// The limit that binds here.
    pub(crate) fn limit(&self) -> Limit {
        match (self.owner, &self.node) {
            (Some(owner), _) => owner.limit(),
            (None, Some(node)) => node.limit,
            (None, None) => self.operation().limit(),
        }
    }

    pub(crate) fn inherited(&mut self) -> Inherited {
        Inherited {
            node: self.node().clone(),
            soft: self.limits.soft,
            owner: self.owner,
            depth: self.depth + 1,
        }
    }

    /// The node, made when it is asked for the first time.
    pub(crate) fn node(&mut self) -> &Arc<Node> {
        if self.node.is_none() {
            self.owns_node = true;
        }
        let (operation, limits, limit) = (*self.operation(), self.limits, self.limit());
        let (started, mode, depth) = (self.started, self.mode, self.depth);
        self.node.get_or_insert_with(|| {
            let seed = Seed {
                operation,
                limits,
                limit,
                own: false,
                started,
                mode,
                depth,
                of_scope: true,
            };
            Node::root(seed, Request::default())
        })
    }

    /// The node of this very scope, so that cancelling it stops this scope and not its siblings.
    pub(crate) fn own_node(&mut self) -> &Arc<Node> {
        let inherited = self.node().clone();
        if !self.owns_node {
            let seed = Seed {
                operation: *self.operation(),
                limits: self.limits,
                limit: self.limit(),
                own: self.binds,
                started: self.started,
                mode: self.mode,
                depth: self.depth,
                of_scope: true,
            };
            self.node = Some(Node::child(&inherited, seed));
            self.owns_node = true;
        }
        self.node()
    }

    /// Why this scope has to stop by `now`, if it has to: a cancel, or the end of its work.
    ///
    /// Decided by the order of events, not by what was noticed first: a cancel after the deadline is the
    /// deadline. On a tie the deadline wins.
    pub(crate) fn stopped(&self, now: impl FnOnce() -> Deadline) -> Option<Cause> {
        if !self.mode.enforces() {
            return None;
        }
        if let Some(cause) = self.stop {
            return Some(cause);
        }
        if let Some((cause, at)) = self.cancelled() {
            let expired = self.limits.soft.is_some_and(|soft| soft <= at);
            return Some(if expired { self.limit_cause() } else { cause });
        }
        let soft = self.limits.soft?;
        (soft <= now()).then(|| self.limit_cause())
    }

    /// The stop of this scope as an error.
    pub(crate) fn stop_error(
        &self,
        cause: Cause,
        phase: Phase,
        now: Deadline,
        location: &'static Location<'static>,
        path: Vec<PathEntry>,
    ) -> Stopped {
        Stopped::new(Details {
            cause,
            phase,
            operation: self.operation().name,
            limit: self.limit(),
            deadline: self.limits.hard,
            budget: self.limits.hard.map(|hard| hard.since(self.started)),
            elapsed: now.since(self.started),
            needed: None,
            no_deadline: false,
            location,
            path,
            source: None,
        })
    }

    /// Remembers a stop that is handed to the program as an error.
    pub(crate) fn note_stop(&self, stopped: &Stopped) {
        if let Some(node) = &self.node {
            node.note_stop(stopped);
        }
    }

    /// A cancel of this request, or of the one that polls it.
    pub(crate) fn cancelled(&self) -> Option<(Cause, Deadline)> {
        let own = self.node.as_ref().and_then(|node| node.signal.get());
        own.or_else(|| self.also.as_ref().and_then(|node| node.signal.get()))
    }

    /// What passing this scope's limit is called: the own budget of a piece of work, strictly shorter than its
    /// parent's, is a dependency that was too slow; anything else is the deadline of the request.
    pub(crate) fn limit_cause(&self) -> Cause {
        if self.binds {
            Cause::DependencyTimeout
        } else {
            Cause::DeadlineExceeded
        }
    }
}
