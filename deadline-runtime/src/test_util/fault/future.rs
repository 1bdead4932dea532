//! [`Faulty`]: a call with a fault.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::kind::{Fault, Injected};
use super::plan::Faults;
use crate::test_util::clock::{clock_is_paused, pass_unchecked};

pin_project! {
    /// The future of [`Faults::around`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Faulty<F> {
        // `None` where the call was not even made.
        #[pin]
        future: Option<F>,
        #[pin]
        delay: Option<Sleep>,
        plan: Faults,
        // `None` until it is drawn.
        fault: Option<Fault>,
    }
}

impl<F> Faulty<F> {
    pub(super) fn new(plan: Faults, future: F) -> Self {
        Self {
            future: Some(future),
            delay: None,
            plan,
            fault: None,
        }
    }

    /// Of a call whose fault has been drawn.
    #[cfg(feature = "http")]
    pub(super) fn with(plan: Faults, fault: Fault, future: Option<F>) -> Self {
        let mut faulty = Self {
            future,
            delay: None,
            plan,
            fault: Some(fault),
        };
        faulty.delay = delay(fault);
        faulty
    }
}

fn delay(fault: Fault) -> Option<Sleep> {
    match fault {
        Fault::Delay(time) => Some(sleep(time)),
        _ => None,
    }
}

impl<F, T, E> Future for Faulty<F>
where
    F: Future<Output = Result<T, E>>,
    E: From<Injected>,
{
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let fault = if let Some(fault) = *this.fault {
            fault
        } else {
            let fault = this.plan.draw();
            this.delay.set(delay(fault));
            *this.fault.insert(fault)
        };
        match fault {
            Fault::Pass => {}
            Fault::Delay(_) => {
                if let Some(delay) = this.delay.as_mut().as_pin_mut() {
                    task::ready!(delay.poll(cx));
                    this.delay.set(None);
                }
            }
            Fault::Hang => return Poll::Pending,
            Fault::Error => {
                this.future.set(None);
                return Poll::Ready(Err(E::from(Injected::Error)));
            }
            Fault::Disconnect => {
                if let Some(future) = this.future.as_mut().as_pin_mut() {
                    let _ = future.poll(cx);
                }
                this.future.set(None);
                return Poll::Ready(Err(E::from(Injected::Disconnect)));
            }
            Fault::Spin => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Fault::Block(time) => {
                hold_the_thread(time);
                *this.fault = Some(Fault::Pass);
            }
        }
        match this.future.as_pin_mut() {
            Some(future) => future.poll(cx),
            None => Poll::Pending,
        }
    }
}

fn hold_the_thread(time: Duration) {
    if clock_is_paused() {
        pass_unchecked(time);
    } else {
        std::thread::sleep(time);
    }
}

impl<F> fmt::Debug for Faulty<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty")
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
