//! [`Timer`]: one alarm, wherever the scope happens to run.
//!
//! tokio's own timer is bound to the runtime it was made in: polled elsewhere it never fires, and it cannot be made
//! without a runtime that has time enabled. A scope may be moved between runtimes and may run under an executor that is not tokio's.
//! There a sleeping thread takes the timer's place: slow and rare, but nothing is silently unlimited.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll, Waker};
use std::thread::Thread;
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::runtime::{self, Handle};
use tokio::task::coop::unconstrained;
use tokio::time::Sleep;

use crate::time::Deadline;

pin_project! {
    #[derive(Default)]
    pub(crate) struct Timer {
        #[pin]
        sleep: Option<Sleep>,
        thread: Option<Sleeper>,
        at: Option<Deadline>,
        made_in: Home,
    }
}

/// The task and the runtime a timer was made in.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Home {
    task: Option<tokio::task::Id>,
    runtime: Option<runtime::Id>,
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
        if self.at.is_none() || self.as_ref().moved() {
            self.as_mut().make(alarm);
        }
        let mut this = self.as_mut().project();
        if this.at.is_some_and(|at| alarm < at) {
            this.at.replace(alarm);
            match this.sleep.as_mut().as_pin_mut() {
                Some(sleep) => sleep.reset(alarm.instant()),
                None => *this.thread = Sleeper::start(alarm),
            }
        }
        if let Some(mut sleep) = this.sleep.as_mut().as_pin_mut() {
            // Without the task's cooperative budget: a body that uses it up must not silence its own limit.
            if poll_now(sleep.as_mut(), cx).is_ready() {
                // It was set for an earlier limit that is gone.
                this.at.replace(alarm);
                sleep.as_mut().reset(alarm.instant());
                if poll_now(sleep, cx).is_ready() {
                    cx.waker().wake_by_ref();
                }
            }
        } else if let Some(thread) = this.thread {
            if !thread.wake_with(cx.waker()) {
                this.at.replace(alarm);
                *this.thread = Sleeper::start(alarm);
                if !this
                    .thread
                    .as_ref()
                    .is_some_and(|thread| thread.wake_with(cx.waker()))
                {
                    cx.waker().wake_by_ref();
                }
            }
        }
    }

    fn make(self: Pin<&mut Self>, alarm: Deadline) {
        let mut this = self.project();
        *this.made_in = Home::here();
        *this.at = Some(alarm);
        *this.thread = None;
        this.sleep.set(None);
        if this.made_in.runtime.is_some() {
            // There is no way to ask a runtime whether its time is enabled; without it this panics.
            let made = catch_unwind(AssertUnwindSafe(|| {
                tokio::time::sleep_until(alarm.instant())
            }));
            this.sleep.set(made.ok());
        }
        if this.sleep.is_none() {
            *this.thread = Sleeper::start(alarm);
        }
    }

    fn moved(self: Pin<&Self>) -> bool {
        // A task never changes its runtime, so the same task is the same runtime.
        let task = tokio::task::try_id();
        (task.is_none() || task != self.made_in.task) && Home::here() != self.made_in
    }
}

impl Home {
    fn here() -> Self {
        Self {
            task: tokio::task::try_id(),
            runtime: Handle::try_current().ok().map(|handle| handle.id()),
        }
    }
}

fn poll_now(sleep: Pin<&mut Sleep>, cx: &mut task::Context<'_>) -> Poll<()> {
    let mut sleep = unconstrained(sleep);
    Pin::new(&mut sleep).poll(cx)
}

/// A thread that sleeps until an instant and wakes a task; it ends when this is dropped.
struct Sleeper {
    shared: Arc<Mutex<Alarm>>,
    thread: Thread,
}

#[derive(Default)]
struct Alarm {
    waker: Option<Waker>,
    over: bool,
}

impl Sleeper {
    /// `None` when the system gives no thread; the caller then polls on.
    fn start(at: Deadline) -> Option<Self> {
        let shared = Arc::new(Mutex::new(Alarm::default()));
        let theirs = shared.clone();
        // The runtime's clock, which may be a paused one, is not ours on another thread: sleep by the length.
        let until = std::time::Instant::now() + at.remaining();
        let run = move || {
            loop {
                let left = until.saturating_duration_since(std::time::Instant::now());
                if left.is_zero() || lock(&theirs).over {
                    break;
                }
                std::thread::park_timeout(left.max(Duration::from_micros(100)));
            }
            let waker = {
                let mut alarm = lock(&theirs);
                alarm.over = true;
                alarm.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        };
        let handle = std::thread::Builder::new()
            .name("deadline-timer".into())
            .spawn(run)
            .ok()?;
        Some(Self {
            shared,
            thread: handle.thread().clone(),
        })
    }

    /// False when it has gone off already.
    fn wake_with(&self, waker: &Waker) -> bool {
        let mut alarm = lock(&self.shared);
        if alarm.over {
            return false;
        }
        alarm.waker = Some(waker.clone());
        true
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        {
            let mut alarm = lock(&self.shared);
            alarm.over = true;
            alarm.waker = None;
        }
        self.thread.unpark();
    }
}

fn lock(shared: &Mutex<Alarm>) -> std::sync::MutexGuard<'_, Alarm> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
