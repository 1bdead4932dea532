//! The reaper: goes on closing tasks whose scope or group is gone.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::crew::Crew;
use super::error::message;
use super::tracker::{Gauge, Held};
use crate::context::node::Node;
use crate::scope::{TARGET, Timer};
use crate::stop::Cause;

/// Why tasks end whose owner was dropped.
pub(super) fn cause() -> Cause {
    if std::thread::panicking() {
        Cause::ParentFailed
    } else {
        Cause::Abandoned
    }
}

/// Closes a crew from here on without anybody to wait for it, except for the nearest scope around `near` that has not
/// ended. Where the runtime of the tasks is gone, so are they.
pub(super) fn hand_over(mut crew: Crew, cause: Cause, near: Option<&Arc<Node>>) {
    crew.close(cause);
    crew.sweep();
    let Some(runtime) = crew.runtime().cloned().filter(|_| crew.len() > 0) else {
        return report_of(&mut crew);
    };
    let held = near.and_then(|node| Gauge::Closing.hold(node));
    let handle = runtime.spawn(Reaper {
        crew: Some(crew),
        timer: Timer::default(),
        held,
    });
    if let Some(near) = near {
        near.keep_reaper(handle);
    }
}

pin_project! {
    struct Reaper {
        crew: Option<Crew>,
        #[pin]
        timer: Timer,
        held: Option<Held>,
    }
}

impl Future for Reaper {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
        let this = self.project();
        let Some(crew) = this.crew else {
            return Poll::Ready(());
        };
        if crew.poll_close(cx).is_pending() {
            this.timer.wait(crew.due(), cx);
            return Poll::Pending;
        }
        report_of(crew);
        *this.crew = None;
        *this.held = None;
        Poll::Ready(())
    }
}

fn report_of(crew: &mut Crew) {
    if let Some(payload) = crew.take_panic() {
        report(&*payload);
    }
}

/// A panic that has nobody to go to.
pub(super) fn report(payload: &(dyn Any + Send)) {
    let panic = message(payload).unwrap_or("without a message");
    tracing::warn!(target: TARGET, panic, "a task panicked, and whoever had spawned it is gone");
}
