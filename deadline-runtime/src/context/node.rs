//! [`Node`]: what contexts share, as a tree.
//!
//! A node exists for a request, for a context made by hand and for a scope that somebody asked for its
//! context; the scopes of one task otherwise borrow the node above them. Invariants:
//!
//! * A child lies in its parent's list from its creation to its drop, and holds its parent alive.
//! * A cancel is pushed down: when [`Node::cancel`] returns, every descendant that existed when it was called
//!   is cancelled, and one that is created meanwhile cancels itself. A check looks at one node only.
//! * A node that ends is not cancelled: dropping one says nothing to its children.

use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::few::Few;
use super::id::Id;
use super::mode::Mode;
use super::overrides::Table;
use super::report::{Records, Report};
use super::signal::Signal;
use crate::admission::{Held, Kept};
use crate::scope::Named;
use crate::stop::{Brief, Cause, Limit, Stopped};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::tasks::{Due, GRACE, Gauge, HasParts, HasQueue, Tracker};
use crate::time::Deadline;

#[allow(
    clippy::struct_excessive_bools,
    reason = "they have nothing to do with each other"
)]
pub(crate) struct Node {
    pub(crate) operation: Named,
    pub(crate) limits: Limits,
    /// Whose limit the deadline is.
    pub(crate) limit: Limit,
    /// Whether that is this node's own, strictly shorter than its parent's.
    pub(crate) own: bool,
    pub(crate) started: Deadline,
    pub(crate) mode: Mode,
    pub(crate) signal: Signal,
    /// How many scopes are around it.
    pub(crate) depth: u16,
    /// Made for a running scope, which is then the one to be written down.
    pub(crate) of_scope: bool,
    /// Whether scopes are recorded.
    pub(crate) reports: bool,
    /// Whether budgets are overridden in this request.
    pub(crate) overridden: bool,
    /// The number of the attempt that this is part of; zero where nobody repeats.
    attempt: AtomicU32,
    /// Its deadline was that of its beginning, and has been kept: what came of it lives on.
    outlived: AtomicBool,
    /// Somebody has, or had, a handle of it.
    handed_out: AtomicBool,
    /// Whether scopes are counted by a tracker.
    pub(crate) tracked: bool,
    /// Everything is enforced, nothing is overridden and nobody counts: a scope has but to compare figures.
    pub(crate) plain: bool,
    /// The scope that it was made for has ended.
    pub(crate) over: AtomicBool,
    /// How many scopes run under it, where it was made by hand.
    pub(crate) runs: AtomicU32,
    /// What the request is in the middle of, where it came over HTTP.
    #[cfg(feature = "http")]
    pub(crate) stage: std::sync::atomic::AtomicU8,
    /// Until when what is below it may tidy up, once that is being ended; zero before.
    closing: AtomicU64,
    /// Tasks and hooks, if there ever were any.
    pub(crate) attached: OnceLock<Box<dyn HasParts>>,
    /// The event of its end has been sent.
    told: AtomicBool,
    position: Position,
    children: Mutex<Few<Weak<Node>>>,
    #[cfg(feature = "test-util")]
    pub(crate) trip: crate::trip::Trip,
}

/// Where a node stands in its tree.
enum Position {
    Root(Root),
    Below {
        parent: Arc<Node>,
        /// Its key in the parent's list.
        key: usize,
    },
}

/// What only a root has.
#[derive(Default)]
struct Root {
    /// Here, so that a request of which nothing else is said takes one allocation.
    id: Option<Id>,
    /// Only if there is anything to say.
    request: OnceLock<Box<Request>>,
    /// When the request's own scope ended; zero before.
    ended: AtomicU64,
}

impl Root {
    fn request(&self) -> &Request {
        self.request.get_or_init(Box::default)
    }

    fn id(&self) -> Option<Arc<str>> {
        match &self.id {
            Some(Id::Text(text)) => Some(text.clone()),
            #[cfg(feature = "http")]
            Some(Id::Drawn(drawn)) => Some(self.request().id.get_or_init(|| drawn.text()).clone()),
            None => self.request.get()?.id.get().cloned(),
        }
    }
}

/// The ends of a piece of work: `soft` where its work and its children end, `hard` where it ends itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    pub(crate) soft: Option<Deadline>,
    pub(crate) hard: Option<Deadline>,
}

impl Limits {
    /// What lies between the end of work and the end of everything.
    pub(crate) fn kept(self) -> Duration {
        self.hard
            .zip(self.soft)
            .map_or(Duration::ZERO, |(hard, soft)| hard.since(soft))
    }

    /// With so many nanoseconds kept between the two.
    #[inline]
    pub(crate) fn of(hard: Option<Deadline>, kept: u64) -> Self {
        Self {
            soft: hard.map(|hard| hard.sooner(kept)),
            hard,
        }
    }
}

/// What belongs to the request as a whole. Boxed, on its root only: contexts are many.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) id: OnceLock<Arc<str>>,
    /// Budgets by operation name.
    pub(crate) overrides: Option<Arc<Table>>,
    pub(crate) records: Records,
    /// The request that a shield, critical work or a hook belongs to: what happens there is recorded here.
    pub(crate) within: Option<Arc<Node>>,
    /// It is work that a request left behind, not a request.
    pub(crate) is_background: bool,
    pub(crate) tracker: Option<Tracker>,
    /// How long tasks and hooks may tidy up.
    pub(crate) grace: Option<Duration>,
    /// The hooks of stopped scopes.
    pub(crate) due: OnceLock<Box<dyn HasQueue>>,
    /// Slots that were taken for it, if they are still held.
    pub(crate) slots: Mutex<Vec<Weak<Held>>>,
}

impl Request {
    /// A root of its own for a shielded piece of `node`'s request.
    pub(crate) fn within(node: &Arc<Node>) -> Self {
        let root = node.recording_root();
        Self {
            id: root.request_id().map_or_else(OnceLock::new, OnceLock::from),
            overrides: root.overrides().cloned(),
            within: Some(root.clone()),
            ..Self::default()
        }
    }

    /// The same for work that goes on by itself.
    pub(crate) fn background(node: &Arc<Node>) -> Self {
        Self {
            is_background: true,
            ..Self::within(node)
        }
    }
}

/// What a node has from the one it is made within.
#[derive(Clone, Copy, Default)]
struct Inherits {
    reports: bool,
    overridden: bool,
    tracked: bool,
    attempt: u32,
}

/// What a new node is made of.
pub(crate) struct Seed {
    pub(crate) operation: Named,
    pub(crate) limits: Limits,
    pub(crate) limit: Limit,
    pub(crate) own: bool,
    pub(crate) started: Deadline,
    pub(crate) mode: Mode,
    pub(crate) depth: u16,
    pub(crate) of_scope: bool,
}

impl Node {
    pub(crate) fn root(seed: Seed, request: Option<Box<Request>>) -> Arc<Self> {
        Self::identified(seed, None, false, request)
    }

    /// A root with an id that lies on it, whose scopes are recorded if it `reports`.
    #[inline]
    pub(crate) fn identified(
        seed: Seed,
        id: Option<Id>,
        reports: bool,
        request: Option<Box<Request>>,
    ) -> Arc<Self> {
        let mut inherits = Inherits {
            reports,
            ..Inherits::default()
        };
        if let Some(request) = request.as_deref() {
            if let Some(around) = &request.within {
                inherits = around.inherits();
            }
            inherits.reports |= reports;
            inherits.overridden |= request.overrides.is_some();
            inherits.tracked |= request.tracker.is_some();
        }
        let request = request.map_or_else(OnceLock::new, OnceLock::from);
        let position = Position::Root(Root {
            id,
            request,
            ended: AtomicU64::new(0),
        });
        Arc::new(Self::build(seed, inherits, position))
    }

    pub(crate) fn child(parent: &Arc<Self>, seed: Seed) -> Arc<Self> {
        let child = {
            let mut children = parent.children();
            let key = children.vacant();
            let position = Position::Below {
                parent: parent.clone(),
                key,
            };
            let child = Arc::new(Self::build(seed, parent.inherits(), position));
            children.insert(Arc::downgrade(&child));
            child
        };
        // After it is listed: whoever cancels the parent from here on finds it there.
        if let Some((cause, at)) = parent.signal.get() {
            child.signal.set(cause, at);
        }
        child
    }

    fn inherits(&self) -> Inherits {
        Inherits {
            reports: self.reports,
            overridden: self.overridden,
            tracked: self.tracked,
            attempt: self.attempt.load(Ordering::Relaxed),
        }
    }

    #[inline]
    fn build(seed: Seed, inherits: Inherits, position: Position) -> Self {
        let Seed {
            operation,
            limits,
            limit,
            own,
            started,
            mode,
            depth,
            of_scope,
        } = seed;
        let Inherits {
            reports,
            overridden,
            tracked,
            attempt,
        } = inherits;
        Self {
            operation,
            limits,
            limit,
            own,
            started,
            mode,
            signal: Signal::default(),
            depth,
            of_scope,
            reports,
            overridden,
            attempt: AtomicU32::new(attempt),
            outlived: AtomicBool::new(false),
            handed_out: AtomicBool::new(false),
            tracked,
            plain: mode == Mode::Enforce && !overridden && !tracked,
            over: AtomicBool::new(false),
            runs: AtomicU32::new(0),
            #[cfg(feature = "http")]
            stage: std::sync::atomic::AtomicU8::new(0),
            closing: AtomicU64::new(0),
            attached: OnceLock::new(),
            told: AtomicBool::new(false),
            position,
            children: Mutex::default(),
            #[cfg(feature = "test-util")]
            trip: crate::trip::Trip::default(),
        }
    }

    /// Cancels this node and everything below it; false if it was cancelled before.
    ///
    /// The order of events is that of the clock: a cancel which arrives when the deadline has passed finds
    /// work that is already over, and is recorded as the deadline.
    pub(crate) fn cancel(self: &Arc<Self>, cause: Cause) -> bool {
        let now = Deadline::now();
        let expired = self.limits.hard.is_some_and(|hard| hard <= now);
        let cause = if expired && !self.outlived.load(Ordering::Relaxed) {
            Cause::DeadlineExceeded
        } else {
            cause
        };
        if !self.signal.set(cause, now) {
            return false;
        }
        // A loop instead of recursion: a chain of contexts may be longer than the stack.
        let mut open = self.live_children();
        while let Some(node) = open.pop() {
            if node.signal.set(cause, now) {
                open.append(&mut node.live_children());
            }
        }
        true
    }

    /// What is below it has limits of its own from here on, so that a cancel is not taken for the deadline.
    #[cfg(feature = "http")]
    pub(crate) fn outlive(&self) {
        self.outlived.store(true, Ordering::Relaxed);
    }

    pub(crate) fn hand_out(&self) {
        self.handed_out.store(true, Ordering::Relaxed);
    }

    /// Whether there is anybody who could cancel it. Only its own scope can hand a node out for the first time, and
    /// only while it is polled.
    pub(crate) fn can_be_cancelled(&self) -> bool {
        self.parent().is_some() || self.handed_out.load(Ordering::Relaxed)
    }

    fn live_children(&self) -> Vec<Arc<Self>> {
        self.children().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn root_of(self: &Arc<Self>) -> &Arc<Self> {
        self.at_root().0
    }

    fn at_root(self: &Arc<Self>) -> (&Arc<Self>, &Root) {
        let mut node = self;
        loop {
            match &node.position {
                Position::Below { parent, .. } => node = parent,
                Position::Root(root) => return (node, root),
            }
        }
    }

    pub(crate) fn same_request(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || Arc::ptr_eq(self.root_of(), other.root_of())
    }

    /// Whether `other` is this node or lies above it: a cancel of it is then this one's too.
    pub(crate) fn is_within(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        let mut node = self;
        while !Arc::ptr_eq(node, other) {
            match &node.position {
                Position::Below { parent, .. } => node = parent,
                Position::Root(_) => return false,
            }
        }
        true
    }

    pub(crate) fn overrides(self: &Arc<Self>) -> Option<&Arc<Table>> {
        self.at_root().1.request.get()?.overrides.as_ref()
    }

    pub(crate) fn attempt(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.attempt.load(Ordering::Relaxed))
    }

    /// Before anything below it is made.
    pub(crate) fn set_attempt(&self, attempt: NonZeroU32) {
        self.attempt.store(attempt.get(), Ordering::Relaxed);
    }

    pub(crate) fn request_id(self: &Arc<Self>) -> Option<Arc<str>> {
        self.at_root().1.id()
    }

    pub(crate) fn records(self: &Arc<Self>) -> &Records {
        &self.at_recording_root().1.request().records
    }

    pub(crate) fn recording_root(self: &Arc<Self>) -> &Arc<Self> {
        self.at_recording_root().0
    }

    fn at_recording_root(self: &Arc<Self>) -> (&Arc<Self>, &Root) {
        let here = self.at_root();
        match here.1.request.get().and_then(|own| own.within.as_ref()) {
            Some(within) => within.at_root(),
            None => here,
        }
    }

    /// What the request starts from now on takes up this slot as well.
    pub(crate) fn keep(self: &Arc<Self>, slot: &Kept) {
        let request = self.at_recording_root().1.request();
        let mut slots = request.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(slot));
    }

    /// The slots that its request takes up.
    pub(crate) fn kept(self: &Arc<Self>) -> Vec<Kept> {
        let Some(request) = self.at_recording_root().1.request.get() else {
            return Vec::new();
        };
        let slots = request.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) const fn parent(&self) -> Option<&Arc<Self>> {
        match &self.position {
            Position::Below { parent, .. } => Some(parent),
            Position::Root(_) => None,
        }
    }

    /// The scope that something belongs to.
    pub(crate) fn parent_name(&self) -> &'static str {
        self.parent()
            .map_or(self.operation.name, |node| node.operation.name)
    }

    /// Whether it is work that a request left behind.
    pub(crate) fn is_background(self: &Arc<Self>) -> bool {
        let request = self.at_root().1.request.get();
        request.is_some_and(|request| request.is_background)
    }

    pub(crate) fn tracker(self: &Arc<Self>) -> Option<&Tracker> {
        if !self.tracked {
            return None;
        }
        self.at_recording_root().1.request.get()?.tracker.as_ref()
    }

    pub(crate) fn grace(self: &Arc<Self>) -> Duration {
        let request = self.at_recording_root().1.request.get();
        request.and_then(|request| request.grace).unwrap_or(GRACE)
    }

    /// The hooks that are due in this request.
    pub(crate) fn due(self: &Arc<Self>) -> &dyn HasQueue {
        let request = self.at_recording_root().1.request();
        &**request.due.get_or_init(|| Box::<Due>::default())
    }

    /// What is below this node is being ended, until then.
    pub(crate) fn closing_by(&self, until: Deadline) {
        self.closing.store(until.to_bits(), Ordering::Release);
    }

    /// `until`, or the end of the grace of whatever around this node is being ended, if that comes first.
    pub(crate) fn closes_by(&self, until: Deadline) -> Deadline {
        let mut until = until;
        let mut next = Some(self);
        while let Some(node) = next {
            if let Some(closing) = Deadline::from_bits(node.closing.load(Ordering::Acquire)) {
                until = until.min(closing);
            }
            next = node.parent().map(|node| &**node);
        }
        until
    }

    /// Work of this request runs on without anybody to wait for it.
    pub(crate) fn orphans(self: &Arc<Self>, gauge: Gauge, count: usize) {
        self.records().with(|all| {
            all.orphans += count;
            all.orphans_running += count;
        });
        if let Some(tracker) = self.tracker() {
            tracker.add(gauge, count);
        }
    }

    pub(crate) fn orphan_ended(self: &Arc<Self>, gauge: Gauge) {
        self.records()
            .with(|all| all.orphans_running = all.orphans_running.saturating_sub(1));
        if let Some(tracker) = self.tracker() {
            tracker.sub(gauge);
        }
    }

    /// The outermost scope is over, and with it the request.
    pub(crate) fn ended(self: &Arc<Self>, now: Deadline) {
        let _ = self.at_root().1.ended.compare_exchange(
            0,
            now.to_bits(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// The records, if somebody wants scopes to be recorded.
    pub(crate) fn recorder(self: &Arc<Self>) -> Option<(&Records, Deadline)> {
        self.reports.then(|| {
            let root = self.recording_root();
            (self.records(), root.started)
        })
    }

    /// Remembers a stop that became an error: error types tend to lose it on the way out. Of those by one limit the
    /// first is kept, which is the innermost.
    pub(crate) fn note_stop(self: &Arc<Self>, stopped: &Stopped) {
        let stop = stopped.brief();
        let at = stopped.seen().unwrap_or_else(Deadline::now);
        // The clock was read before the signal: a cancel may have come in between, and is no later than what it led to.
        let at = self
            .signal
            .get()
            .map_or(at, |(_, cancelled)| at.max(cancelled));
        self.records().with(|all| match &all.stop {
            Some((earlier, _))
                if earlier.deadline.is_some() && earlier.deadline == stop.deadline => {}
            _ => all.stop = Some((stop, at)),
        });
    }

    /// A fallback has replaced what was stopped.
    pub(crate) fn forget_stop(self: &Arc<Self>, stopped: &Stopped) {
        self.records().with(|all| {
            all.stop.take_if(|(last, _)| last.same_as(stopped));
        });
    }

    /// A fallback has replaced a scope that was stopped by its own limit, and with it whatever that has stopped inside.
    pub(crate) fn forget_stops(self: &Arc<Self>, stopped: &Stopped) {
        let stop = stopped.brief();
        let by_it = |last: &Brief| (last.limit, last.deadline) == (stop.limit, stop.deadline);
        self.records().with(|all| {
            all.stop.take_if(|(last, _)| by_it(last));
        });
    }

    /// Takes the noted stop out, so that one which is noted next is known to be of what runs next.
    pub(crate) fn take_noted(self: &Arc<Self>) -> Option<(Brief, Deadline)> {
        let records = &self.at_recording_root().1.request.get()?.records;
        records.with(|all| all.stop.take())
    }

    /// Puts it back, in the place of what has been noted since.
    pub(crate) fn renote(self: &Arc<Self>, noted: Option<(Brief, Deadline)>) {
        if let Some(request) = self.at_recording_root().1.request.get() {
            request.records.with(|all| all.stop = noted);
        }
    }

    /// Puts it back as the earlier one: of those by one limit the first is kept.
    pub(crate) fn note_again(self: &Arc<Self>, noted: Option<(Brief, Deadline)>) {
        let Some(earlier) = noted else { return };
        self.records().with(|all| match &all.stop {
            Some((later, _))
                if earlier.0.deadline.is_none() || later.deadline != earlier.0.deadline => {}
            _ => all.stop = Some(earlier),
        });
    }

    /// The stop that became an error and has not been replaced by a fallback, and when it did.
    pub(crate) fn noted_stop(self: &Arc<Self>) -> Option<(Brief, Deadline)> {
        let records = &self.at_recording_root().1.request.get()?.records;
        records.with(|all| all.stop)
    }

    /// The noted stop, if the request itself was ended by it: by its deadline, or by the cancel it got.
    pub(crate) fn stop_of_request(self: &Arc<Self>) -> Option<Brief> {
        let (stop, _) = self.noted_stop()?;
        let cancelled = self.recording_root().signal.get().map(|(cause, _)| cause);
        (stop.cause == Cause::DeadlineExceeded || Some(stop.cause) == cancelled).then_some(stop)
    }

    /// Whether a request whose outermost work ends at `soft` is over.
    pub(crate) fn is_over(self: &Arc<Self>, soft: Option<Deadline>, now: Deadline) -> bool {
        let cancelled = self.recording_root().signal.get().is_some();
        cancelled || soft.is_some_and(|soft| soft <= now)
    }

    /// True once.
    pub(crate) fn first_to_tell(self: &Arc<Self>) -> bool {
        !self.recording_root().told.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn report(self: &Arc<Self>) -> Report {
        let (root, of_root) = self.at_recording_root();
        let ended = Deadline::from_bits(of_root.ended.load(Ordering::Relaxed));
        let now = ended.unwrap_or_else(Deadline::now);
        let mut report = self.records().with(|all| Report {
            operation: root.operation.name,
            request_id: root.request_id(),
            elapsed: now.since(root.started),
            granted: root.limits.hard.map(|hard| hard.since(root.started)),
            cause: root.signal.get().map(|(cause, _)| cause),
            scopes: all.scopes.clone(),
            omitted: all.omitted,
            unbounded: all.unbounded,
            orphans: all.orphans,
            orphans_running: all.orphans_running,
            after_stop: all.after_stop.clone(),
            missing: all.missing.clone(),
        });
        // They are recorded when they end; read in the order in which they started, the outer one first.
        report
            .scopes
            .sort_by_key(|scope| (scope.started, scope.depth));
        report
    }

    /// Lets go of its parent; returned with its key there.
    fn parted(&mut self) -> Option<(Arc<Self>, usize)> {
        if matches!(self.position, Position::Root(_)) {
            return None;
        }
        match std::mem::replace(&mut self.position, Position::Root(Root::default())) {
            Position::Below { parent, key } => Some((parent, key)),
            Position::Root(_) => None,
        }
    }

    fn children(&self) -> MutexGuard<'_, Few<Weak<Self>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The root of the request, also of what is shielded from its cancel.
    #[cfg(feature = "test-util")]
    pub(crate) fn request(self: &Arc<Self>) -> &Arc<Self> {
        self.recording_root()
    }

    #[cfg(feature = "test-util")]
    pub(crate) fn trip(self: &Arc<Self>) -> &crate::trip::Trip {
        &self.recording_root().trip
    }

    #[cfg(any(feature = "test-util", all(test, deadline_loom)))]
    pub(crate) fn child_count(&self) -> usize {
        self.children().len()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Ancestors that only this node kept alive go one by one, so that a long chain cannot
        // overflow the stack.
        let mut above = self.parted();
        while let Some((node, key)) = above {
            let unlinked = node.children().remove(key);
            drop(unlinked);
            let Some(mut last) = Arc::into_inner(node) else {
                return;
            };
            above = last.parted();
        }
    }
}

#[cfg(all(test, not(deadline_loom)))]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::Budget;
    use crate::context::Context;
    use crate::context::current::Frame;
    use crate::stop::{Path, Phase};

    /// Whoever looks reads the clock first, and a cancel may come before the signal is read.
    #[tokio::test(start_paused = true)]
    async fn a_stop_is_noted_no_earlier_than_the_cancel_it_came_of() {
        let cx = Context::root("request", Budget::inherited());
        let node = cx.node().unwrap();
        let before = Deadline::now();
        tokio::time::advance(Duration::from_millis(5)).await;
        cx.cancel(Cause::UserCancelled);
        let stopped = Frame::of(Some(node)).stop_error(
            Cause::UserCancelled,
            Phase::Wait,
            before,
            Location::caller(),
            Path::default(),
        );
        node.note_stop(&stopped);
        let noted = node.noted_stop().map(|(_, at)| at);
        assert_eq!(noted, Some(Deadline::now()));
    }
}
