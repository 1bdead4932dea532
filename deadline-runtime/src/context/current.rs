//! [`Frame`]: the context of the code that is running on this thread right now.
//!
//! A scope puts its frame on the thread's stack of frames for the length of one poll, and takes it off when that ends,
//! also by a panic. A `LocalSet` or `block_on` that runs other tasks inside a poll cannot mix them up: a frame is only
//! believed by the task it was made for. (Executors that are not tokio's give their tasks no identity; one that is
//! driven inside a scope hands the scope's context to all its tasks.)
//!
//! What a scope needs from the ones inside it (when to wake, until when a shield holds) goes up through the
//! frame as well: it is reported to the outer frame when the inner poll is over.
//!
//! A look at the thread's stack is not free, so a scope takes one when a poll begins and one when it ends. Nothing that
//! could come back here (a waker, an event, a destructor of the user's) may run during such a [`visit`].

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

use tokio::task::Id;

use super::mode::Mode;
use super::node::{Limits, Node, Seed};
use super::signal::addresses;
use crate::scope::{Described, Named, Operation};
use crate::stop::{Brief, Cause, Details, Limit, Path, PathEntry, Phase, Stopped};
use crate::time::Deadline;

pub(crate) struct Frame {
    /// `None` in an outermost scope whose context nobody has asked for yet, and where there is none.
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
    pub(crate) depth: u16,
    /// `None` where the clock is not read.
    pub(crate) started: Option<Deadline>,
    pub(crate) mode: Mode,
    pub(crate) poller: Poller,
    /// Whose frame it is.
    pub(crate) id: FrameId,
    /// The stop that is being delivered to the body.
    pub(crate) stop: Option<Cause>,
    /// How often a guard has handed a stop to the body of this scope.
    pub(crate) deliveries: u8,
    pub(crate) seen: Seen,
}

/// What one poll left behind for the scope itself and for those around it.
#[derive(Default)]
pub(crate) struct Seen {
    /// The earliest limit inside that has no timer of its own.
    pub(crate) wake_at: Option<Deadline>,
    /// Until when a shielded piece of work inside may go on.
    pub(crate) hold: Option<Deadline>,
    /// How many scopes inside with other wakers began to hold, less those that ended it: they are not polled
    /// whenever this scope is, so what they say counts until they take it back.
    pub(crate) holders: i32,
    /// Until when they hold.
    pub(crate) held: Option<Deadline>,
    /// A scope inside has yielded to catch a value that is one task-hop away.
    pub(crate) yielding: bool,
    /// The clock, as it was read last inside: when an await began, or when everything was pending.
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
            waker: addresses(waker),
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

/// Names the owner of a frame on its thread's stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameId {
    address: usize,
    /// Zero for a scope; counts the frames that were entered by hand on one thread.
    turn: usize,
}

impl FrameId {
    const NONE: Self = Self {
        address: 0,
        turn: 0,
    };

    /// Of something that stays where it is while its frame is in place.
    pub(crate) fn of<T>(scope: &T) -> Self {
        Self {
            address: std::ptr::from_ref(scope).addr(),
            turn: 0,
        }
    }
}

/// The frames of a thread; the last one is that of the code which is running.
///
/// Frames are filled in and emptied where they lie: moving one in and out costs more than everything else that a scope
/// does at the ends of a poll.
#[derive(Default)]
pub(crate) struct Stack {
    frames: Vec<Frame>,
    /// How many are in place; those after them are empty.
    len: usize,
    /// How many were entered by hand so far.
    entered: usize,
}

thread_local! {
    static CURRENT: RefCell<Stack> = const { RefCell::new(Stack { frames: Vec::new(), len: 0, entered: 0 }) };
}

/// A look at the stack of this thread; `None` on a thread that is ending.
#[inline]
pub(crate) fn visit<R>(step: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    CURRENT.try_with(|stack| step(&mut stack.borrow_mut())).ok()
}

impl Stack {
    /// The frame that `task` is running in.
    #[inline]
    pub(crate) fn running(&mut self, task: Option<Id>) -> Option<&mut Frame> {
        let last = self.len.checked_sub(1)?;
        let frame = self.frames.get_mut(last)?;
        (frame.poller.task == task).then_some(frame)
    }

    /// A new frame on top, which the caller fills in: its nodes are `None`, everything else is what an earlier one left.
    #[inline]
    pub(crate) fn push(&mut self) -> &mut Frame {
        let at = self.len;
        if at >= self.frames.len() {
            self.grow();
        }
        self.len = at + 1;
        &mut self.frames[at]
    }

    #[cold]
    fn grow(&mut self) {
        self.frames.push(Frame::of(None));
    }

    /// The frame of `id`, and the one around it in the same task. What was left above it is dropped.
    #[inline]
    pub(crate) fn top(&mut self, id: FrameId) -> Option<(&mut Frame, Option<&mut Frame>)> {
        let last = self.len.checked_sub(1)?;
        if self.frames.get(last)?.id != id {
            self.uncover(id);
        }
        let (frame, below) = self.frames.get_mut(..self.len)?.split_last_mut()?;
        if frame.id != id {
            return None;
        }
        let outer = below.last_mut();
        let outer = outer.filter(|outer| outer.poller.task == frame.poller.task);
        Some((frame, outer))
    }

    /// An expression under a shield that was suspended has left its frame behind.
    #[cold]
    fn uncover(&mut self, id: FrameId) {
        let frames = self.frames.get(..self.len).unwrap_or_default();
        if let Some(at) = frames.iter().rposition(|frame| frame.id == id) {
            while self.len > at + 1 {
                self.pop();
            }
        }
    }

    /// The frame on top, if it is that of `id`, and the one below it, whosever that is.
    #[inline(always)]
    pub(crate) fn top_two(&mut self, id: FrameId) -> Option<(&mut Frame, Option<&mut Frame>)> {
        let (frame, below) = self.frames.get_mut(..self.len)?.split_last_mut()?;
        (frame.id == id).then(|| (frame, below.last_mut()))
    }

    /// Takes the frame on top off, which has been emptied.
    #[inline(always)]
    pub(crate) fn pop_emptied(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Takes the frame on top off, if it is that of `id` and there is nothing in it to be told to the one around.
    #[inline(always)]
    pub(crate) fn pop_plainly(&mut self, id: FrameId) -> Option<&mut Frame> {
        let last = self.len.checked_sub(1)?;
        let frame = self.frames.get_mut(last)?;
        if frame.id != id || frame.seen.limit_hit.is_some() || frame.also.is_some() {
            return None;
        }
        self.len = last;
        Some(frame)
    }

    #[inline]
    pub(crate) fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
        if let Some(frame) = self.frames.get_mut(self.len) {
            frame.node = None;
            frame.also = None;
        }
    }
}

/// A frame that was entered by hand; it is left when this is dropped.
#[must_use]
pub(crate) struct Entered(FrameId);

pub(crate) fn enter(frame: Frame) -> Entered {
    let id = visit(|stack| {
        stack.entered = stack.entered.wrapping_add(1).max(1);
        // The address is that of this thread's stack: a guard that is dropped on another thread finds nothing there.
        let id = FrameId {
            turn: stack.entered,
            ..FrameId::of(stack)
        };
        *stack.push() = Frame { id, ..frame };
        id
    });
    Entered(id.unwrap_or(FrameId::NONE))
}

/// The same with the frame of a context, filled in where it lies: bodies are polled in one.
pub(crate) fn enter_context(node: Option<&Arc<Node>>) -> Entered {
    let task = tokio::task::try_id();
    let id = visit(|stack| {
        stack.entered = stack.entered.wrapping_add(1).max(1);
        let id = FrameId {
            turn: stack.entered,
            ..FrameId::of(stack)
        };
        let frame = stack.push();
        frame.id = id;
        frame.poller = Poller {
            task,
            waker: (0, 0),
        };
        frame.be_of(node);
        id
    });
    Entered(id.unwrap_or(FrameId::NONE))
}

impl Drop for Entered {
    fn drop(&mut self) {
        let _ = visit(|stack| {
            if stack.top(self.0).is_some() {
                stack.pop();
            }
        });
    }
}

/// Runs `read` on the frame of the running task; `None` outside any scope. What it runs must not come back here.
pub(crate) fn with<R>(read: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    with_below(|frame, _| read(frame))
}

/// As [`with`], for code that makes an error and needs the path of scopes for it.
pub(crate) fn with_below<R>(read: impl FnOnce(&mut Frame, Below<'_>) -> R) -> Option<R> {
    visit(|stack| {
        let (frame, below) = stack.frames.get_mut(..stack.len)?.split_last_mut()?;
        (frame.poller.task == tokio::task::try_id()).then(|| read(frame, Below(below)))
    })
    .flatten()
}

/// As [`with`], for what a scope itself polls: the frame on top was put there for it, whichever task this is.
#[inline]
pub(crate) fn of_scope<R>(read: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    visit(|stack| {
        let last = stack.len.checked_sub(1)?;
        stack.frames.get_mut(last).map(read)
    })
    .flatten()
}

/// The frames below one.
pub(crate) struct Below<'a>(&'a [Frame]);

/// The scopes that are being polled in this task, outermost first.
pub(crate) fn path() -> Path {
    with_below(|frame, below| frame.path(&below)).unwrap_or_default()
}

/// What a scope inherits from the context it is created or polled in.
#[derive(Clone)]
pub(crate) struct Inherited {
    pub(crate) node: Arc<Node>,
    pub(crate) soft: Option<Deadline>,
    pub(crate) owner: Option<&'static Operation>,
    pub(crate) depth: u16,
}

/// The ambient context, for whoever is about to run inside it.
#[inline]
pub(crate) fn inherit() -> Option<Inherited> {
    let task = tokio::task::try_id();
    visit(|stack| stack.running(task)?.inherited()).flatten()
}

/// What something begins under that was given `captured` at its call. One request: the polling context decides. Two: the
/// one of the call, and the polling one has to be met beside it.
pub(crate) fn captured_or_polling(captured: Option<Inherited>) -> Option<Inherited> {
    match (captured, inherit()) {
        (Some(captured), Some(polling)) if captured.node.same_request(&polling.node) => {
            Some(polling)
        }
        (Some(only), _) | (None, Some(only)) => Some(only),
        (None, None) => None,
    }
}

/// Which of two requests was cancelled, and why; of both the earlier.
pub(crate) fn first_cancel(
    own: Option<&Arc<Node>>,
    also: Option<&Arc<Node>>,
) -> Option<(Cause, Deadline)> {
    let own = own.and_then(|node| node.signal.get());
    let also = also.and_then(|node| node.signal.get());
    match (own, also) {
        (Some(own), Some(also)) => Some(if also.1 < own.1 { also } else { own }),
        (one, None) | (None, one) => one,
    }
}

impl Seen {
    /// Whether nothing inside holds, yields or has met its limit.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.hold.is_none()
            && self.holders == 0
            && self.held.is_none()
            && !self.yielding
            && self.limit_hit.is_none()
    }
}

impl Frame {
    /// A frame for code that is not a poll of a scope: it has what `node` has, or nothing.
    pub(crate) fn of(node: Option<&Arc<Node>>) -> Self {
        Self {
            node: node.cloned(),
            also: None,
            limits: node.map(|node| node.limits).unwrap_or_default(),
            owner: None,
            operation: None,
            binds: node.is_some_and(|node| node.own),
            owns_node: true,
            depth: node.map_or(0, |node| node.depth),
            started: node.map(|node| node.started),
            mode: node.map_or(Mode::Enforce, |node| node.mode),
            poller: Poller::none(),
            id: FrameId::NONE,
            stop: None,
            deliveries: 0,
            seen: Seen::default(),
        }
    }

    /// Becomes what [`of`](Self::of) makes, but for who polls and whose it is.
    #[inline]
    fn be_of(&mut self, node: Option<&Arc<Node>>) {
        self.owner = None;
        self.operation = None;
        self.owns_node = true;
        self.stop = None;
        self.deliveries = 0;
        self.seen = Seen::default();
        if let Some(node) = node {
            self.limits = node.limits;
            self.binds = node.own;
            self.depth = node.depth;
            self.started = Some(node.started);
            self.mode = node.mode;
            self.node = Some(node.clone());
        } else {
            self.limits = Limits::default();
            self.binds = false;
            self.depth = 0;
            self.started = None;
            self.mode = Mode::Enforce;
        }
    }

    /// The scopes of this frame's task down to it, outermost first.
    pub(crate) fn path(&self, below: &Below<'_>) -> Path {
        let other = |frame: &Frame| frame.poller.task != self.poller.task;
        let from = below.0.iter().rposition(other).map_or(0, |at| at + 1);
        let below = below.0.get(from..).unwrap_or_default();
        below
            .iter()
            .chain([self])
            .map(|frame| PathEntry {
                operation: frame.operation().name,
                hard: frame.limits.hard,
            })
            .collect()
    }

    /// Whether this is a frame of `node` and of no other request beside it.
    #[inline]
    pub(crate) fn is_just(&self, node: &Arc<Node>) -> bool {
        self.also.is_none() && self.node.as_ref().is_some_and(|own| Arc::ptr_eq(own, node))
    }

    /// Whether this is where [`Context::none`](crate::Context::none) holds: what begins here is outermost.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.node.is_none() && self.operation.is_none()
    }

    pub(crate) fn operation(&self) -> Described<'_> {
        match (self.operation, &self.node) {
            (Some(operation), _) => operation.described(),
            (None, Some(node)) => node.operation.described(),
            (None, None) => const { Operation::UNNAMED.described() },
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

    #[inline]
    pub(crate) fn inherited(&mut self) -> Option<Inherited> {
        if self.is_none() {
            return None;
        }
        Some(Inherited {
            node: self.node().clone(),
            soft: self.limits.soft,
            owner: self.owner,
            depth: self.depth.saturating_add(1),
        })
    }

    /// The node, made when it is asked for the first time.
    #[allow(
        clippy::single_match_else,
        reason = "an early return would borrow too long"
    )]
    #[inline]
    pub(crate) fn node(&mut self) -> &Arc<Node> {
        match self.node {
            Some(ref node) => node,
            None => {
                self.owns_node = true;
                let node = Node::root(self.seed(), None);
                self.node.insert(node)
            }
        }
    }

    /// The node of this very scope, so that cancelling it stops this scope and not its siblings; `None` where there is
    /// no context.
    pub(crate) fn own_node(&mut self) -> Option<&Arc<Node>> {
        if self.is_none() {
            return None;
        }
        let inherited = self.node().clone();
        if !self.owns_node {
            self.node = Some(Node::child(&inherited, self.seed()));
            self.owns_node = true;
        }
        self.node.as_ref()
    }

    /// Whether all that is known of this frame stands in `node`.
    pub(crate) fn is_as(&self, node: &Node) -> bool {
        self.operation.is_none()
            && self.owner.is_none()
            && self.also.is_none()
            && self.limits == node.limits
    }

    fn seed(&self) -> Seed {
        Seed {
            operation: match (self.operation, &self.node) {
                (Some(operation), _) => Named::from(operation),
                (None, Some(node)) => node.operation.clone(),
                (None, None) => Named::from(&Operation::UNNAMED),
            },
            limits: self.limits,
            limit: self.limit(),
            own: self.binds,
            started: self.started.unwrap_or_else(Deadline::now),
            mode: self.mode,
            depth: self.depth,
            of_scope: true,
        }
    }

    /// The end of work, where nothing has stopped this scope already and that alone can.
    #[inline(always)]
    pub(crate) fn ends_by_clock(&self) -> Option<Deadline> {
        let cancelled = self.node.as_ref().is_some_and(|node| node.signal.is_set());
        if self.mode != Mode::Enforce || self.stop.is_some() || self.also.is_some() || cancelled {
            return None;
        }
        self.limits.soft
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
            return Some(self.first_of(cause, at));
        }
        let soft = self.limits.soft?;
        (soft <= now()).then(|| self.limit_cause())
    }

    /// The cancel, or the limit if that came first.
    fn first_of(&self, cause: Cause, at: Deadline) -> Cause {
        if self.limits.soft.is_some_and(|soft| soft <= at) {
            self.limit_cause()
        } else {
            cause
        }
    }

    /// The stop of this scope as an error.
    pub(crate) fn stop_error(
        &self,
        cause: Cause,
        phase: Phase,
        now: Deadline,
        location: &'static Location<'static>,
        path: Path,
    ) -> Stopped {
        let started = self.started.unwrap_or(now);
        let brief = Brief {
            cause,
            phase,
            operation: self.operation().name,
            limit: self.limit(),
            deadline: self.limits.hard,
            budget: self.limits.hard.map(|hard| hard.since(started)),
            elapsed: now.since(started),
        };
        Stopped::new(Details {
            kept: self.limits.kept(),
            location,
            path,
            seen: Some(now),
            ..Details::of(brief)
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
        first_cancel(self.node.as_ref(), self.also.as_ref())
    }

    /// Notes the limit by which something inside was ended; this scope's own is kept against any other.
    pub(crate) fn note_limit_hit(&mut self, limit: Option<Deadline>) {
        if self.seen.limit_hit.is_none() || self.seen.limit_hit != self.limits.soft {
            self.seen.limit_hit = limit.or(self.seen.limit_hit);
        }
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
