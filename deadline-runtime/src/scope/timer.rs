//! [`Timer`]: one alarm, wherever the scope happens to run.
//!
//! tokio's own timer is bound to the runtime it was made in: polled elsewhere it never fires, and where the runtime has
//! no time enabled or is shut down it panics. A scope may be moved between runtimes and may run under an executor that
//! is not tokio's. There a thread takes the timer's place, so that nothing is silently unlimited.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;
use tokio::runtime::{self, Handle};
use tokio::task::coop::unconstrained;
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
            if self.at.is_some() {
                self.set(Self::default());
            }
            return;
        };
        let moved = self.at.is_none() || self.as_ref().moved();
        if moved {
            self.as_mut().make(alarm);
        }
        let mut this = self.project();
        let earlier = this.at.is_some_and(|at| alarm < at);
        let set = match this.kind.as_mut().project() {
            KindProj::Tokios { mut sleep } => {
                let mut polled = None;
                if !earlier {
                    polled = poll(sleep.as_mut(), cx);
                }
                // Set for a later limit, or fired for an earlier one that is gone.
                if earlier || polled == Some(Poll::Ready(())) {
                    *this.at = Some(alarm);
                    reset(sleep.as_mut(), alarm);
                    polled = poll(sleep, cx);
                }
                match polled {
                    Some(Poll::Pending) => return,
                    Some(Poll::Ready(())) => return cx.waker().wake_by_ref(),
                    None => {
                        if this.made_in.runtime.is_some() {
                            UNTIMED.set(this.made_in.runtime);
                        }
                        false
                    }
                }
            }
            KindProj::Ours { alarm } => !earlier && alarm.wake_with(cx.waker()),
            KindProj::Unset => false,
        };
        if !set {
            *this.at = Some(alarm);
            if let Some(alarm) = Alarm::set(alarm, cx.waker()) {
                this.kind.set(Kind::Ours { alarm });
            } else {
                this.kind.set(Kind::Unset);
                cx.waker().wake_by_ref();
            }
        }
    }

    fn make(self: Pin<&mut Self>, alarm: Deadline) {
        let mut this = self.project();
        *this.made_in = Home::here();
        *this.at = Some(alarm);
        this.kind.set(Kind::Unset);
        let timed = match UNTIMED.try_with(Cell::get).ok().flatten() {
            None => *this.made_in != Home::default(),
            Some(untimed) => runtime_id().is_some_and(|runtime| runtime != untimed),
        };
        if timed {
            // Panics without time enabled.
            let made = catch_unwind(AssertUnwindSafe(|| {
                tokio::time::sleep_until(alarm.instant())
            }));
            match made {
                Ok(sleep) => this.kind.set(Kind::Tokios { sleep }),
                Err(_) => UNTIMED.set(runtime_id()),
            }
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

/// Polls without the task's cooperative budget: a body that uses it up must not silence its own limit. `None` when the
/// runtime of the timer is shut down, which is a panic inside.
fn poll(sleep: Pin<&mut Sleep>, cx: &mut task::Context<'_>) -> Option<Poll<()>> {
    catch_unwind(AssertUnwindSafe(|| {
        let mut sleep = unconstrained(sleep);
        Pin::new(&mut sleep).poll(cx)
    }))
    .ok()
}

fn reset(sleep: Pin<&mut Sleep>, alarm: Deadline) {
    // The poll that follows finds out when the runtime is gone.
    let _ = catch_unwind(AssertUnwindSafe(|| sleep.reset(alarm.instant())));
}
