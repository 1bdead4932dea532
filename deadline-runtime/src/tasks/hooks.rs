//! After-stop hooks: asynchronous tidying up when the body of a stopped scope is gone.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::runtime::Handle;

use super::error::message;
use super::tracker::{Gauge, Held};
use super::unwind::CatchUnwind;
use crate::context::Context;
use crate::context::node::{Limits, Node, Request, Seed};
use crate::scope::{Attended, Named, TARGET};
use crate::stop::{Phase, Stopped};
use crate::time::{Budget, Deadline};

type Work =
    Box<dyn FnOnce(Context) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send>;

/// One registered hook.
pub(super) struct Hook {
    id: u64,
    name: &'static str,
    location: &'static Location<'static>,
    runtime: Option<Handle>,
    work: Work,
}

/// How an after-stop hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterStopOutcome {
    /// It did what it was there for.
    Completed,
    /// It returned this error.
    Failed(String),
    /// It panicked, with this message.
    Panicked(String),
    /// It was dropped when the grace was over.
    Cut,
    /// It never began: no grace was left for it, or there was no runtime to run it.
    NotRun,
}

impl fmt::Display for AfterStopOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Panicked(panic) => write!(f, "panicked: {panic}"),
            Self::Cut => f.write_str("cut off at the end of the grace"),
            Self::NotRun => f.write_str("not run"),
        }
    }
}

/// One after-stop hook that was due.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AfterStopRecord {
    /// The hook's name.
    pub operation: &'static str,
    /// How it ended.
    pub outcome: AfterStopOutcome,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E> Sealed for Result<(), E> {}
}

/// What an after-stop hook may return: nothing, or a `Result` whose error is written down.
pub trait AfterStopResult: sealed::Sealed {
    #[doc(hidden)]
    #[allow(clippy::missing_errors_doc, reason = "not for use by hand")]
    fn into_result(self) -> Result<(), String>;
}

impl AfterStopResult for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display> AfterStopResult for Result<(), E> {
    fn into_result(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// A registered after-stop hook. Dropping this changes nothing: it is mostly held by the very body whose end the hook waits
/// for.
#[derive(Debug)]
pub struct AfterStop {
    node: Weak<Node>,
    id: u64,
}

impl AfterStop {
    /// Takes the hook back, because what it would have tidied up is done; false if it was due already.
    #[allow(clippy::must_use_candidate, reason = "mostly called for its effect")]
    pub fn deregister(self) -> bool {
        let removed = self.node.upgrade().and_then(|node| {
            node.attached(|parts| {
                let at = parts.hooks.iter().position(|hook| hook.id == self.id)?;
                Some(parts.hooks.remove(at))
            })
            .flatten()
        });
        // Dropped outside the lock: it holds what the user put into it.
        removed.is_some()
    }
}

impl Context {
    /// Registers asynchronous work for the case that the scope of this context is stopped or dropped: it runs after the
    /// body is gone, on a task of its own. A scope that ends with a value drops its hooks unrun, also with an error of the
    /// program's. A body that meets this scope's own stop as the error of a child, and returns, was stopped, whatever it
    /// makes of that error; only a `fallback` makes it a value.
    ///
    /// The hook's context is a fresh one: not cancelled, with the request id, and bounded by the
    /// [grace](crate::RootBuilder::grace) of the request, which all hooks that are due at the same time share. They run one
    /// after the other, the last registered first. One that fails or panics neither stops the others nor changes the cause
    /// of the stop; [`Context::report`] says what became of each.
    ///
    /// Nobody waits for them, except [`Tracker::wait`](crate::Tracker::wait). They need the tokio runtime that they were
    /// registered in: without one they are not run, which is told in an event. They are not for what must be done even if
    /// the process dies, nor for what takes long: see [`critical`](Self::critical).
    ///
    /// ```
    /// use std::time::Duration;
    /// use deadline_runtime::{Budget, Context};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let request = Context::root("order", Budget::new(Duration::from_millis(50)));
    /// let outcome = request
    ///     .run(async {
    ///         Context::current().after_stop("unlock", |_cx| async {
    ///             // e.g. give a lock back in a store
    ///             Ok::<(), std::io::Error>(())
    ///         });
    ///         std::future::pending::<()>().await
    ///     })
    ///     .await;
    /// assert!(outcome.is_err());
    /// tokio::task::yield_now().await;
    /// let report = request.report().unwrap();
    /// assert_eq!(report.after_stop[0].to_string(), "unlock: completed");
    /// # }
    /// ```
    #[track_caller]
    pub fn after_stop<F>(
        &self,
        name: &'static str,
        work: impl FnOnce(Self) -> F + Send + 'static,
    ) -> AfterStop
    where
        F: Future<Output: AfterStopResult> + Send + 'static,
    {
        let hook = |id| Hook {
            id,
            name,
            location: Location::caller(),
            runtime: Handle::try_current().ok(),
            work: Box::new(move |context: Self| {
                let future = context.enter(|| work(context.clone()));
                Box::pin(async move { future.await.into_result() })
            }),
        };
        let Some(node) = self.node() else {
            // No scope will ever be stopped here.
            return AfterStop {
                node: Weak::new(),
                id: 0,
            };
        };
        let id = node.attach(|parts| {
            parts.last_hook += 1;
            let id = parts.last_hook;
            parts.hooks.push(hook(id));
            id
        });
        AfterStop {
            node: Arc::downgrade(node),
            id,
        }
    }
}

impl fmt::Display for AfterStopRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.outcome)
    }
}

/// The hooks of one request that are due.
#[derive(Default)]
pub(crate) struct Due(Mutex<Queue>);

#[derive(Default)]
pub(crate) struct Queue {
    hooks: VecDeque<(Hook, Option<Held>)>,
    /// The end of the grace that they share.
    until: Option<Deadline>,
    /// Somebody runs them.
    served: bool,
}

/// [`Due`] as a node knows it, and for the reason that [`HasParts`](super::HasParts) has.
pub(crate) trait HasQueue: Send + Sync {
    fn queue(&self) -> MutexGuard<'_, Queue>;
}

impl HasQueue for Due {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hooks of a scope that was stopped.
pub(super) fn run(mut hooks: Vec<Hook>, node: &Arc<Node>) {
    hooks.reverse();
    let Some(now) = Deadline::now_if_any() else {
        return;
    };
    let runtime = hooks.iter().find_map(|hook| hook.runtime.clone());
    let Some(runtime) = runtime else {
        for hook in hooks {
            written_down(node, hook.name, AfterStopOutcome::NotRun);
        }
        return;
    };
    let root = node.recording_root().clone();
    let starts = {
        let mut queue = root.due().queue();
        // Scopes that stop one after the other share a grace; a stop after its end is another one.
        if queue.until.is_none_or(|until| until <= now) {
            queue.until = Some(now.plus(root.grace()));
        }
        for hook in hooks {
            let held = Gauge::AfterStop.hold(&root);
            queue.hooks.push_back((hook, held));
        }
        !std::mem::replace(&mut queue.served, true)
    };
    if starts {
        let serving = Serving(root);
        runtime.spawn(async move { serving.serve().await });
    }
}

/// Runs what is due until there is no more. If it is dropped, the rest is not run.
struct Serving(Arc<Node>);

impl Serving {
    async fn serve(&self) {
        while let Some((hook, held, until)) = self.next() {
            let outcome = run_one(&self.0, hook.name, hook.location, hook.work, until).await;
            written_down(&self.0, hook.name, outcome);
            drop(held);
        }
    }

    fn next(&self) -> Option<(Hook, Option<Held>, Deadline)> {
        let mut queue = self.0.due().queue();
        let until = queue.until?;
        let next = queue.hooks.pop_front();
        queue.served = next.is_some();
        next.map(|(hook, held)| (hook, held, until))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        while let Some((hook, held, _)) = self.next() {
            written_down(&self.0, hook.name, AfterStopOutcome::NotRun);
            drop(held);
        }
    }
}

async fn run_one(
    root: &Arc<Node>,
    name: &'static str,
    location: &'static Location<'static>,
    work: Work,
    until: Deadline,
) -> AfterStopOutcome {
    let node = fresh(root, name, location, until);
    let context = Context::from_node(node.clone());
    let run = Attended::always(node, async move { work(context).await });
    match CatchUnwind::new(AssertUnwindSafe(run)).await {
        Ok(Ok(Ok(()))) => AfterStopOutcome::Completed,
        Ok(Ok(Err(error))) => AfterStopOutcome::Failed(error),
        Ok(Err(stopped)) if stopped.phase() == Phase::Start => AfterStopOutcome::NotRun,
        Ok(Err(Stopped { .. })) => AfterStopOutcome::Cut,
        Err(payload) => {
            AfterStopOutcome::Panicked(message(&*payload).unwrap_or("without a message").to_owned())
        }
    }
}

/// A context of its own inside the request: nothing that has happened to that reaches it.
fn fresh(
    root: &Arc<Node>,
    name: &'static str,
    location: &'static Location<'static>,
    until: Deadline,
) -> Arc<Node> {
    let operation = Named::new(name, location, &Budget::inherited());
    let seed = Seed {
        limits: Limits::of(Some(until), 0),
        limit: operation.limit(),
        own: true,
        started: Deadline::now(),
        mode: root.mode,
        depth: 1,
        of_scope: false,
        operation,
    };
    Node::root(seed, Some(Box::new(Request::background(root))))
}

fn written_down(node: &Arc<Node>, name: &'static str, outcome: AfterStopOutcome) {
    let request_id = node.request_id();
    let request_id = request_id.as_deref().unwrap_or("");
    if outcome == AfterStopOutcome::Completed {
        tracing::debug!(target: TARGET, op = name, request_id, "after-stop hook {outcome}");
    } else {
        tracing::warn!(target: TARGET, op = name, request_id, "after-stop hook {outcome}");
    }
    node.records().after_stop(AfterStopRecord {
        operation: name,
        outcome,
    });
}
