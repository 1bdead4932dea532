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
use crate::time::Deadline;

pin_project! {
    #[derive(Default)]
    pub(crate) struct Driver {
        #[pin]
        timer: Timer,
        watched: Option<Arc<Node>>,
        place: Place,
    }

    impl PinnedDrop for Driver {
        fn drop(this: Pin<&mut Self>) {
            this.unwatch();
        }
    }
}

impl Driver {
    /// Wakes the task at `alarm` and when `node` is cancelled.
    pub(crate) fn wait(
        mut self: Pin<&mut Self>,
        alarm: Option<Deadline>,
        node: Option<Arc<Node>>,
        cx: &mut task::Context<'_>,
    ) {
        self.as_mut().project().timer.wait(alarm, cx);
        let unchanged = match (&self.watched, &node) {
            (Some(watched), Some(node)) => Arc::ptr_eq(watched, node),
            (None, None) => true,
            _ => false,
        };
        if !unchanged {
            self.as_mut().unwatch();
            *self.as_mut().project().watched = node;
        }
        let this = self.project();
        if let Some(node) = this.watched {
            let before = node.signal.get().is_some();
            if node.signal.register(this.place, cx.waker()) && !before {
                // Cancelled between the test and the registration: come again at once.
                cx.waker().wake_by_ref();
            }
        }
    }

    /// Nothing is waited for any more.
    pub(crate) fn release(mut self: Pin<&mut Self>) {
        self.as_mut().unwatch();
        self.project().timer.set(Timer::default());
    }

    fn unwatch(self: Pin<&mut Self>) {
        let this = self.project();
        if let Some(node) = this.watched.take() {
            node.signal.unregister(this.place);
        }
    }
}
