//! [`Timer`]: one alarm, wherever the scope happens to run.
//!
//! tokio's own timer is bound to the runtime it was made in: polled elsewhere it never fires, and where the runtime has
//! no time enabled or is shut down it panics. A scope may be moved between runtimes and may run under an executor that
//! is not tokio's. There a thread takes the timer's place, so that nothing is silently unlimited.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;
use tokio::runtime::{self, Handle};
use tokio::task::coop::{has_budget_remaining, unconstrained};
use tokio::time::Sleep;

use super::alarm::Alarm;
use crate::time::Deadline;

pin_project! {
    #[derive(Default)]
    pub(crate) struct Timer {
        #[pin]
        kind: Kind,
        at: Option<Deadline>,
        made_in: Home,
    }
}

pin_project! {
    #[derive(Default)]
    #[project = KindProj]
    enum Kind {
        #[default]
        Unset,
        Tokios { #[pin] sleep: Sleep },
        Ours { alarm: Alarm },
    }
}

/// The task that a timer was made in, which never changes its runtime; without one the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Home {
    task: Option<tokio::task::Id>,
    runtime: Option<runtime::Id>,
}

thread_local! {
    /// The runtime that was last found to have no usable timers: there is no way to ask for that without a panic, so
    /// it is not asked again for every scope.
    static UNTIMED: Cell<Option<runtime::Id>> = const { Cell::new(None) };
}

impl Timer {
    /// Wakes the task at `alarm` or before. An alarm that is already set and earlier stays: waking too early is
    /// harmless, and cheaper than setting it anew.
    pub(crate) fn wait(
        mut self: Pin<&mut Self>,
        alarm: Option<Deadline>,
        cx: &mut task::Context<'_>,
    ) {
        let Some(alarm) = alarm else {
            self.unset();
            return;
        };
        let polled = if self.at.is_none() || self.as_ref().moved() {
            self.as_mut().make(alarm, cx)
        } else {
            self.as_mut().again(alarm, cx)
        };
        match polled {
            Some(Poll::Pending) => {}
            Some(Poll::Ready(())) => cx.waker().wake_by_ref(),
            None => self.without_tokio(alarm, cx),
        }
    }

    /// Made and polled. `None` where tokio has no timers.
    fn make(self: Pin<&mut Self>, alarm: Deadline, cx: &mut task::Context<'_>) -> Option<Poll<()>> {
        let mut this = self.project();
        *this.made_in = Home::here();
        *this.at = Some(alarm);
        this.kind.set(Kind::Unset);
        let timed = match UNTIMED.try_with(Cell::get).ok().flatten() {
            None => *this.made_in != Home::default(),
            Some(untimed) => runtime_id().is_some_and(|runtime| runtime != untimed),
        };
        if !timed {
            return None;
        }
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let sleep = tokio::time::sleep_until(alarm.instant());
            this.kind.set(Kind::Tokios { sleep });
            match this.kind.as_mut().project() {
                KindProj::Tokios { sleep } => poll(sleep, cx),
                _ => Poll::Pending,
            }
        }));
        if polled.is_err() {
            // Without time enabled, or shut down.
            UNTIMED.set(runtime_id());
        }
        polled.ok()
    }

    /// Polled again, and set anew if it has to be. `None` where tokio has no timers.
    fn again(
        self: Pin<&mut Self>,
        alarm: Deadline,
        cx: &mut task::Context<'_>,
    ) -> Option<Poll<()>> {
        let mut this = self.project();
        let earlier = this.at.is_some_and(|at| alarm < at);
        match this.kind.as_mut().project() {
            KindProj::Tokios { mut sleep } => {
                let polled = catch_unwind(AssertUnwindSafe(|| {
                    if !earlier && poll(sleep.as_mut(), cx).is_pending() {
                        return Poll::Pending;
                    }
                    // Set for a later limit, or fired for an earlier one that is gone.
                    *this.at = Some(alarm);
                    sleep.as_mut().reset(alarm.instant());
                    poll(sleep.as_mut(), cx)
                }));
                if polled.is_err() && this.made_in.runtime.is_some() {
                    // Shut down.
                    UNTIMED.set(this.made_in.runtime);
                }
                polled.ok()
            }
            KindProj::Ours { alarm } if !earlier && alarm.wake_with(cx.waker()) => {
                Some(Poll::Pending)
            }
            KindProj::Ours { .. } | KindProj::Unset => None,
        }
    }

    #[cold]
    fn without_tokio(self: Pin<&mut Self>, alarm: Deadline, cx: &mut task::Context<'_>) {
        let mut this = self.project();
        *this.at = Some(alarm);
        if let Some(alarm) = Alarm::set(alarm, cx.waker()) {
            this.kind.set(Kind::Ours { alarm });
        } else {
            this.kind.set(Kind::Unset);
            cx.waker().wake_by_ref();
        }
    }

    /// There is nothing to wait for.
    pub(crate) fn unset(self: Pin<&mut Self>) {
        if self.at.is_some() {
            let mut this = self.project();
            *this.at = None;
            this.kind.set(Kind::Unset);
        }
    }

    fn moved(self: Pin<&Self>) -> bool {
        let task = tokio::task::try_id();
        (task.is_none() || task != self.made_in.task) && Home::here() != self.made_in
    }
}

impl Home {
    fn here() -> Self {
        let task = tokio::task::try_id();
        let runtime = if task.is_none() { runtime_id() } else { None };
        Self { task, runtime }
    }
}

fn runtime_id() -> Option<runtime::Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

/// Polls without the task's cooperative budget: a body that uses it up must not silence its own limit. A panic when the runtime
/// of the timer is shut down.
#[inline]
fn poll(sleep: Pin<&mut Sleep>, cx: &mut task::Context<'_>) -> Poll<()> {
    if has_budget_remaining() {
        // What is pending takes none of it.
        return sleep.poll(cx);
    }
    Pin::new(&mut unconstrained(sleep)).poll(cx)
}
