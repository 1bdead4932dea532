//! [`Driver`]: what wakes a scope that cannot lean on an outer one: a timer and a place among the waiters.
//!
//! The outermost scope of a task has one; so does a scope that is polled with another waker than the scope around it
//! (`FuturesUnordered`, `join_all`), because its task-mates are not polled when it is woken.

use std::pin::Pin;
use std::sync::Arc;
use std::task;

use pin_project_lite::pin_project;

use super::timer::Timer;
use crate::context::Place;
use crate::context::node::Node;
use crate::stop::Limit;
use crate::time::Deadline;

pin_project! {
    #[derive(Default)]
    pub(crate) struct Driver {
        #[pin]
        timer: Timer,
        own: Watch,
        rest: Option<Box<Rest>>,
    }

    impl PinnedDrop for Driver {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.own.leave();
            if let Some(rest) = this.rest {
                rest.also.leave();
            }
        }
    }
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
    /// Wakes the task at `alarm` and when one of the nodes is cancelled. A cancel that is there already wakes it at
    /// once, unless the caller has `noticed` that it is over.
    pub(crate) fn wait(
        mut self: Pin<&mut Self>,
        alarm: Option<Deadline>,
        own: Option<&Arc<Node>>,
        also: Option<&Arc<Node>>,
        noticed: bool,
        cx: &mut task::Context<'_>,
    ) {
        self.as_mut().project().timer.wait(alarm, cx);
        let this = self.project();
        // Neither has a node, mostly.
        let own = (own.is_some() || this.own.node.is_some()) && this.own.wait(own, cx);
        let also = match this.rest {
            Some(rest) => rest.also.wait(also, cx),
            None if also.is_some() => this.rest.insert(Box::default()).also.wait(also, cx),
            None => false,
        };
        if (own || also) && !noticed {
            // Cancelled between the test and the registration: come again at once.
            cx.waker().wake_by_ref();
        }
    }

    /// Something inside holds until `until`, or no longer does.
    pub(super) fn note_holders(self: Pin<&mut Self>, change: i32, until: Option<Deadline>) {
        let rest = self.rest();
        rest.holders = rest.holders.saturating_add_signed(change);
        rest.held = if rest.holders == 0 {
            None
        } else {
            rest.held.max(until)
        };
    }

    pub(super) fn held(&self) -> Option<Deadline> {
        self.rest.as_ref()?.held
    }

    #[cfg(feature = "stream")]
    pub(super) fn set_limit(self: Pin<&mut Self>, limit: Option<Limit>) {
        if limit.is_some() || self.rest.is_some() {
            self.rest().limit = limit;
        }
    }

    pub(super) fn limit(&self) -> Option<Limit> {
        self.rest.as_ref()?.limit
    }

    pub(super) fn tidy_until(self: Pin<&mut Self>, until: Deadline) {
        self.rest().tidy_until = Some(until);
    }

    pub(super) fn tidies_until(&self) -> Option<Deadline> {
        self.rest.as_ref()?.tidy_until
    }

    fn rest(self: Pin<&mut Self>) -> &mut Rest {
        self.project().rest.get_or_insert_default()
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
                let mut driver = Box::pin(Driver::default());
                let mut cx = task::Context::from_waker(&waker);
                driver.as_mut().wait(None, own, also, noticed, &mut cx);
                assert_eq!(count.0.load(Ordering::Relaxed), woken);
            }
        }
    }

    #[test]
    fn a_hold_lasts_until_the_last_holder_takes_it_back() {
        let mut driver = Box::pin(Driver::default());
        let soon = Deadline::now();
        let later = soon.plus(std::time::Duration::from_millis(5));
        driver.as_mut().note_holders(1, Some(later));
        driver.as_mut().note_holders(1, Some(soon));
        assert_eq!(driver.held(), Some(later));
        driver.as_mut().note_holders(-1, None);
        assert_eq!(driver.held(), Some(later));
        driver.as_mut().note_holders(-1, None);
        assert_eq!(driver.held(), None);
        driver.as_mut().note_holders(-1, None);
        assert_eq!(driver.held(), None);
    }
}
