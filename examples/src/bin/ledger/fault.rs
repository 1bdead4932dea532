//! Where the service can be broken.
//!
//! A program that is to survive everything has to be shown it: each step asks here whether this is where it goes wrong.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    BeforeIntent,
    BeforeIntentCommit,
    DuringIntentCommit,
    AfterIntent,
    BeforeResultCommit,
    DuringResultCommit,
    BeforeAnswer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing goes on from here: the deadline passes.
    Stall,
    /// The process ends here.
    Kill,
}

/// One fault at one step, once.
#[derive(Clone, Default)]
pub struct Faults {
    plan: Arc<Mutex<Option<(Step, Fault)>>>,
    killed: Arc<Notify>,
}

impl Faults {
    pub fn plan(step: Step, fault: Fault) -> Self {
        Self {
            plan: Arc::new(Mutex::new(Some((step, fault)))),
            ..Self::default()
        }
    }

    /// A step is reached.
    pub async fn at(&self, step: Step) {
        if let Some(fault) = self.take(step) {
            self.happen(fault).await;
        }
    }

    /// A step that takes time: it has begun when the fault happens.
    pub async fn during<F: Future>(&self, step: Step, work: F) -> F::Output {
        let mut work = pin!(work);
        if let Some(fault) = self.take(step) {
            let mut once = pin!(&mut work);
            let begun = std::future::poll_fn(|cx| {
                std::task::Poll::Ready(once.as_mut().poll(cx).is_pending())
            });
            let _ = begun.await;
            self.happen(fault).await;
        }
        work.await
    }

    /// Waits until the process was killed.
    pub async fn killed(&self) {
        self.killed.notified().await;
    }

    fn take(&self, step: Step) -> Option<Fault> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, fault) = plan.take_if(|(planned, _)| *planned == step)?;
        Some(fault)
    }

    async fn happen(&self, fault: Fault) {
        if fault == Fault::Kill {
            self.killed.notify_one();
        }
        std::future::pending::<()>().await;
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BeforeIntent => "before the intent",
            Self::BeforeIntentCommit => "before its commit",
            Self::DuringIntentCommit => "during its commit",
            Self::AfterIntent => "after the intent",
            Self::BeforeResultCommit => "before the result's commit",
            Self::DuringResultCommit => "during the result's commit",
            Self::BeforeAnswer => "before the answer",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Stall => "the deadline passes",
            Self::Kill => "the process is killed",
        })
    }
}
