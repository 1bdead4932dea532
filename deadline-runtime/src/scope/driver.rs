//! [`Driver`]: what wakes a scope that cannot lean on an outer one: a timer and a place among the waiters.
//!
//! The outermost scope of a task has one; so does a scope that is polled with another waker than the scope around it
//! (`FuturesUnordered`, `join_all`), because its task-mates are not polled when it is woken.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task;

use pin_project_lite::pin_project;

use super::timer::Timer;
use crate::context::Place;
use crate::context::node::Node;
use crate::stop::Limit;
use crate::time::Deadline;

/// Small, because a million scopes may wait that have their end from the one around them, or none.
#[derive(Default)]
pub(crate) struct Driver {
    own: Watch,
    more: Option<Pin<Box<More>>>,
}

pin_project! {
    #[derive(Default)]
    #[project = Room]
    struct More {
        #[pin]
        timer: Timer,
        rest: Option<Box<Rest>>,
    }
}

/// So many drivers with a timer are kept on a thread for the scopes that come next.
const SPARE: usize = 64;

thread_local! {
    /// Each has room for a timer, none has a timer.
    #[allow(clippy::vec_box, reason = "the boxes are what is kept")]
    static SPARES: RefCell<Vec<Box<Driver>>> = const { RefCell::new(Vec::new()) };
}

/// What hardly any scope needs, so that a million that wait take up less.
#[derive(Default)]
struct Rest {
    also: Watch,
    /// What is inside and polled with other wakers is not polled whenever this scope is: what it said counts
    /// until it takes it back.
    holders: u32,
    held: Option<Deadline>,
    /// Whose limit the scope's end is, where that is not its node's.
    limit: Option<Limit>,
    /// The end of the scope's cleanup.
    tidy_until: Option<Deadline>,
}

/// A node whose cancel is waited for.
#[derive(Default)]
struct Watch {
    node: Option<Arc<Node>>,
    place: Place,
}

impl Driver {
    /// For a scope that begins to wait. `timed` where it is going to need a timer.
    #[inline]
    #[allow(clippy::unnecessary_box_returns, reason = "the box may be a kept one")]
    pub(super) fn new(timed: bool) -> Box<Self> {
        if !timed {
            return Box::default();
        }
        let spare = SPARES.try_with(|spares| spares.borrow_mut().pop());
        spare.ok().flatten().unwrap_or_else(|| {
            Box::new(Self {
                own: Watch::default(),
                more: Some(Box::pin(More::default())),
            })
        })
    }

    /// Nothing is waited for any more.
    #[inline]
    pub(super) fn end(mut driver: Box<Self>) {
        driver.own.leave();
        let Some(more) = &mut driver.more else { return };
        if more.rest.is_some() {
            return;
        }
        more.as_mut().project().timer.unset();
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < SPARE {
                spares.push(driver);
            }
        });
    }

    /// Wakes the task at `alarm` and when one of the nodes is cancelled. A cancel that is there already wakes it at
    /// once, unless the caller has `noticed` that it is over.
    pub(crate) fn wait(
        &mut self,
        alarm: Option<Deadline>,
        own: Option<&Arc<Node>>,
        also: Option<&Arc<Node>>,
        noticed: bool,
        cx: &mut task::Context<'_>,
    ) {
        if alarm.is_some() || self.more.is_some() {
            self.more().timer.wait(alarm, cx);
        }
        // Neither has a node, mostly.
        let own = (own.is_some() || self.own.node.is_some()) && self.own.wait(own, cx);
        let also = (also.is_some() || self.any().is_some()) && self.rest().also.wait(also, cx);
        if (own || also) && !noticed {
            // Cancelled between the test and the registration: come again at once.
            cx.waker().wake_by_ref();
        }
    }

    /// Something inside holds until `until`, or no longer does.
    pub(super) fn note_holders(&mut self, change: i32, until: Option<Deadline>) {
        let rest = self.rest();
        rest.holders = rest.holders.saturating_add_signed(change);
        rest.held = if rest.holders == 0 {
            None
        } else {
            rest.held.max(until)
        };
    }

    pub(super) fn held(&self) -> Option<Deadline> {
        self.any()?.held
    }

    #[cfg(feature = "stream")]
    pub(super) fn set_limit(&mut self, limit: Option<Limit>) {
        if limit.is_some() || self.any().is_some() {
            self.rest().limit = limit;
        }
    }

    pub(super) fn limit(&self) -> Option<Limit> {
        self.any()?.limit
    }

    pub(super) fn tidy_until(&mut self, until: Deadline) {
        self.rest().tidy_until = Some(until);
    }

    pub(super) fn tidies_until(&self) -> Option<Deadline> {
        self.any()?.tidy_until
    }

    fn any(&self) -> Option<&Rest> {
        self.more.as_ref()?.rest.as_deref()
    }

    #[cold]
    fn rest(&mut self) -> &mut Rest {
        self.more().rest.get_or_insert_default()
    }

    #[inline]
    fn more(&mut self) -> Room<'_> {
        self.more
            .get_or_insert_with(|| Box::pin(More::default()))
            .as_mut()
            .project()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.own.leave();
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.also.leave();
    }
}

impl Watch {
    /// True if the node was cancelled already.
    #[inline]
    fn wait(&mut self, node: Option<&Arc<Node>>, cx: &mut task::Context<'_>) -> bool {
        let unchanged = match (&self.node, node) {
            (Some(watched), Some(node)) => Arc::ptr_eq(watched, node),
            (None, None) => true,
            _ => false,
        };
        if !unchanged {
            self.leave();
            self.node = node.cloned();
        }
        match &self.node {
            Some(node) => node.signal.register(&mut self.place, cx.waker()),
            None => false,
        }
    }

    fn leave(&mut self) {
        if let Some(node) = self.node.take() {
            node.signal.unregister(&mut self.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;
    use crate::{Budget, Cause, Context};

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The scope has tested for a cancel, then one arrives, then it begins to wait.
    #[test]
    fn a_cancel_between_the_test_and_the_wait_wakes() {
        for (noticed, woken) in [(false, 1), (true, 0)] {
            for beside in [false, true] {
                let node = Context::root("request", Budget::inherited())
                    .inherited()
                    .map(|inherited| inherited.node);
                if let Some(node) = &node {
                    node.cancel(Cause::ClientCancelled);
                }
                let node = node.as_ref();
                let (own, also) = if beside { (None, node) } else { (node, None) };
                let count = Arc::new(Count::default());
                let waker = Waker::from(count.clone());
                let mut driver = Driver::default();
                let mut cx = task::Context::from_waker(&waker);
                driver.wait(None, own, also, noticed, &mut cx);
                assert_eq!(count.0.load(Ordering::Relaxed), woken);
            }
        }
    }

    /// What is kept for the next scope has nothing of the last one.
    #[tokio::test(start_paused = true)]
    async fn a_driver_that_is_used_again_wakes_only_the_new_task() {
        let start = Deadline::now();
        let after = |millis| Some(start.plus(std::time::Duration::from_millis(millis)));
        let context = Context::root("request", Budget::inherited());
        let node = context.node();
        let (old, new) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let woken = || [&old, &new].map(|count| count.0.load(Ordering::Relaxed));
        for (count, alarm, watched) in [(&old, 10, node), (&new, 20, None)] {
            let waker = Waker::from(count.clone());
            let mut cx = task::Context::from_waker(&waker);
            let mut driver = Driver::new(true);
            driver.wait(after(alarm), watched, None, false, &mut cx);
            if watched.is_some() {
                Driver::end(driver);
                continue;
            }
            // Its wakers are gone from everywhere.
            assert_eq!(Arc::strong_count(&old), 1);
            context.cancel(Cause::Shutdown);
            tokio::time::advance(std::time::Duration::from_millis(15)).await;
            assert_eq!(woken(), [0, 0]);
            tokio::time::advance(std::time::Duration::from_millis(10)).await;
            assert_eq!(woken(), [0, 1]);
        }
    }

    #[test]
    fn a_hold_lasts_until_the_last_holder_takes_it_back() {
        let mut driver = Driver::default();
        let soon = Deadline::now();
        let later = soon.plus(std::time::Duration::from_millis(5));
        driver.note_holders(1, Some(later));
        driver.note_holders(1, Some(soon));
        assert_eq!(driver.held(), Some(later));
        driver.note_holders(-1, None);
        assert_eq!(driver.held(), Some(later));
        driver.note_holders(-1, None);
        assert_eq!(driver.held(), None);
        driver.note_holders(-1, None);
        assert_eq!(driver.held(), None);
    }
}
