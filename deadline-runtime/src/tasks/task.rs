//! [`Task`]: a spawned piece of work; how a context spawns it, into its scope or past its end.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{self, Poll};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::crew::Crew;
use super::error::{Panicked, Payload, TaskError};
use super::places::{Entry, Place};
use super::reaper;
use super::roster::Ticket;
use super::tracker::{Gauge, Held};
use super::work::{End, Outcome, Work};
use crate::context::Context;
use crate::context::node::{Limits, Node, Request, Seed};
use crate::scope::{Attended, Named, TARGET};
use crate::stop::{Brief, Cause, Details, Limit, Phase, Stopped};
use crate::time::{Budget, Deadline};

/// A spawned task: a future of its result. Dropping it does not stop the task.
///
/// # Errors
/// [`Stopped`] when the task was stopped or refused, or was aborted because it did not end within the grace.
///
/// # Panics
/// With the task's own panic.
#[must_use = "the task runs without it; drop it if nobody wants its result"]
pub struct Task<T> {
    context: Context,
    result: oneshot::Receiver<Result<T, TaskError>>,
    /// The scope that carries a panic which nobody has looked at.
    owner: Weak<Node>,
}

impl<T> Task<T> {
    /// The task's own context.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// Stops this task alone; false if it was stopped before.
    #[allow(clippy::must_use_candidate, reason = "mostly called for its effect")]
    pub fn cancel(&self, cause: Cause) -> bool {
        self.context.cancel(cause)
    }

    /// As awaiting it, with a panic as a value.
    ///
    /// # Errors
    /// [`TaskError`] for a task that was stopped or has panicked.
    pub async fn join(mut self) -> Result<T, TaskError> {
        std::future::poll_fn(|cx| self.poll_join(cx)).await
    }

    fn poll_join(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<T, TaskError>> {
        Pin::new(&mut self.result).poll(cx).map(|received| {
            received
                .unwrap_or_else(|_| Err(TaskError::Stopped(self.context.stop_error(Phase::Wait))))
        })
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, Stopped>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.poll_join(cx)
            .map(|result| result.map_err(TaskError::stopped_or_resume))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.result.close();
        if let Ok(Err(TaskError::Panicked(panicked))) = self.result.try_recv() {
            carry(self.owner.upgrade().as_ref(), panicked.into_payload());
        }
    }
}

/// A panic that its handle's owner does not want to know: the scope of the task carries it, if it has not ended.
fn carry(owner: Option<&Arc<Node>>, payload: Payload) {
    let mut payload = Some(payload);
    if let Some(node) = owner {
        let _ = node.attach_if_attended(|parts| {
            if parts.panic.is_none() {
                parts.panic = payload.take();
            }
        });
    }
    if let Some(payload) = payload {
        reaper::report(&*payload);
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Task").field(&self.context).finish()
    }
}

/// What a task came to, on its way to its handle.
fn delivery<T>(
    operation: &'static str,
    handle: oneshot::Sender<Result<T, TaskError>>,
) -> impl FnOnce(Outcome<T>) -> End {
    move |outcome| match outcome {
        Outcome::Value(value) => {
            let _ = handle.send(Ok(value));
            End::Finished
        }
        Outcome::Stopped(stopped) => {
            let _ = handle.send(Err(TaskError::Stopped(stopped)));
            End::Stopped
        }
        Outcome::Panicked(payload) => {
            let panicked = TaskError::Panicked(Panicked::new(operation, payload));
            match handle.send(Err(panicked)) {
                Err(Err(TaskError::Panicked(panicked))) => {
                    End::Panicked(Some(panicked.into_payload()))
                }
                _ => End::Panicked(None),
            }
        }
    }
}

impl Context {
    /// Spawns a task into the scope of this context.
    ///
    /// It has this context's deadline, and does not outlive the scope: when the annotated function that the context
    /// belongs to ends, by a value, an error, a stop or because it is dropped, the task is cancelled and joined within the
    /// [grace](crate::RootBuilder::grace), never past the hard deadline, then aborted, and counted as an
    /// [orphan](crate::Report::orphans) if it even then does not let go of its thread. The function's value or error is
    /// handed out after that. (A value that may not be sent to other threads cannot be held back: then, and where the
    /// function itself is dropped, the scope around it waits instead.)
    ///
    /// A context made by hand has the scopes that run under it; outside any, the nearest one around it sees to the task.
    ///
    /// The closure is called at once, inside the task's context, because arguments are evaluated before a call. Only the
    /// deadline, the cancellation and the identity of the request go along: no task-local of the program's, no span, no
    /// shield.
    ///
    /// A task that is started by [`tokio::spawn`] instead keeps the deadline, if what it runs was annotated, and is nobody's:
    /// it is not joined.
    ///
    /// ```
    /// use deadline_runtime::{Context, Stopped, deadline};
    ///
    /// #[deadline(budget = "100ms")]
    /// async fn both() -> Result<u32, Stopped> {
    ///     let cx = Context::current();
    ///     let left = cx.spawn(|_cx| async { 1 });
    ///     let right = cx.spawn(|_cx| async { 2 });
    ///     Ok(left.await? + right.await?)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// assert_eq!(both().await.unwrap(), 3);
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does. A task that panics does not end the others; its panic goes to
    /// whoever awaits the [`Task`], and if that was dropped, on to the end of the scope, after the others were joined.
    #[track_caller]
    pub fn spawn<F>(&self, work: impl FnOnce(Self) -> F) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn_at(Budget::inherited(), Location::caller(), work)
    }

    /// As [`spawn`](Self::spawn), with a budget of the task's own, whose clock starts now. With a
    /// [cleanup](Budget::cleanup) the task goes on after a stop for that long, to tidy up.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does.
    #[track_caller]
    pub fn spawn_within<F>(
        &self,
        budget: impl Into<Budget>,
        work: impl FnOnce(Self) -> F,
    ) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.spawn_at(budget.into(), Location::caller(), work)
    }

    fn spawn_at<F>(
        &self,
        budget: Budget,
        location: &'static Location<'static>,
        work: impl FnOnce(Self) -> F,
    ) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let runtime = Handle::current();
        let (context, node) = self.below_at("task", budget, location);
        let future = context.enter(|| work(context.clone()));
        let (handle, result) = oneshot::channel();
        let deliver = delivery(node.operation.name, handle);
        // Whoever sees to it; outside any scope it is left to itself.
        let near = self.node().unwrap_or(&node);
        let owner = near.attendant().unwrap_or(near).clone();
        let task = Task {
            context,
            result,
            owner: Arc::downgrade(&owner),
        };
        let kept = owner.attach(|parts| parts.crews.pop());
        let mut crew = kept.unwrap_or_else(|| Crew::new(owner.limits.hard, owner.grace()));
        crew.sweep();
        crew.watch(&node);
        let ticket: Ticket = crew.enter(&node);
        // Outside the lock: a runtime that has shut down drops it at once.
        crew.spawn(
            &runtime,
            Work::new(
                Some(Attended::new(node, future)),
                Entry::Now(Place::unlimited()),
                ticket,
                deliver,
            ),
        );
        give_back(&owner, crew);
        task
    }

    /// Runs work that must come to its end although its caller, its scope or the request is over: a journal entry, an
    /// answer to a payment. It is spawned and has a context of its own that *replaces* this one: no cancel and no deadline
    /// of the request reaches it, only its own budget, which is therefore required. The request id and the mode are kept,
    /// and what it records is in the request's report.
    ///
    /// Dropping the returned [`Task`] does not stop it. It ends with the runtime: to wait for it at shutdown, build requests
    /// with a [`Tracker`](crate::Tracker); without one nobody waits. What has to survive the process belongs into a queue or
    /// an outbox.
    ///
    /// The budget holds in every mode, because it is the program's own. One that is no duration (inherited or a percentage)
    /// is of what the caller has left now; if the caller has no deadline either, the work is refused, since nothing would
    /// bound it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use deadline_runtime::{Budget, Cause, Context};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let request = Context::root("order", Budget::new(Duration::from_millis(50)));
    /// let journal = request.critical("journal", Duration::from_secs(1), |cx| async move {
    ///     tokio::time::sleep(Duration::from_millis(300)).await;
    ///     cx.check().is_ok()
    /// });
    /// request.cancel(Cause::ClientCancelled);
    /// assert!(journal.await.unwrap());
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`tokio::spawn`] does.
    #[track_caller]
    pub fn critical<F>(
        &self,
        name: &'static str,
        budget: impl Into<Budget>,
        work: impl FnOnce(Self) -> F,
    ) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let budget = budget.into();
        let operation = Named::new(name, Location::caller(), &budget);
        let runtime = Handle::current();
        let started = Deadline::now();
        let left = self.node().and_then(|node| node.limits.hard);
        let left = left.map(|hard| hard.since(started));
        let own = budget.granted(left).or(left);
        let limit = operation.limit();
        let limits = Limits::of(own.map(|own| started.plus(own)), operation.figures.kept);
        let seed = Seed {
            limits,
            limit,
            own: true,
            started,
            mode: self.mode(),
            depth: 1,
            of_scope: false,
            operation,
        };
        let request = self.node().map(Request::background).map(Box::new);
        let node = Node::root(seed, request);
        let context = Self::from_node(node.clone());
        let (handle, result) = oneshot::channel();
        let task = Task {
            context: context.clone(),
            result,
            owner: Weak::new(),
        };
        if limits.hard.is_none() {
            let _ = handle.send(Err(TaskError::Stopped(unbounded(limit))));
            return task;
        }
        let held: Option<Held> = Gauge::Critical.hold(&node);
        let future = context.enter(|| work(context.clone()));
        let deliver = delivery(name, handle);
        let told = node.clone();
        let deliver = move |outcome| {
            if let Outcome::Stopped(stopped) = &outcome {
                let request_id = told.request_id();
                tracing::warn!(
                    target: TARGET,
                    op = name,
                    cause = stopped.cause().as_str(),
                    elapsed = crate::time::Short(stopped.elapsed()).to_string(),
                    request_id = request_id.as_deref().unwrap_or(""),
                    "critical work was stopped by its own budget"
                );
            }
            let end = deliver(outcome);
            if let End::Panicked(Some(payload)) = &end {
                reaper::report(&**payload);
            }
            end
        };
        runtime.spawn(Work::new(
            Some(Attended::always(node, future)),
            Entry::Now(Place::unlimited()),
            held,
            deliver,
        ));
        task
    }
}

/// Puts a crew back where it was, unless the scope has ended meanwhile.
fn give_back(owner: &Arc<Node>, crew: Crew) {
    let mut crew = Some(crew);
    let attended = owner.is_attended();
    let kept = owner.attach_if_attended(|parts| parts.crews.extend(crew.take()));
    if kept.is_some() {
        return;
    }
    let Some(crew) = crew else { return };
    if attended {
        reaper::hand_over(crew, Cause::Abandoned, owner.parent());
    } else {
        owner.attach(|parts| parts.crews.push(crew));
    }
}

/// A refusal of work that nothing would bound.
fn unbounded(limit: Limit) -> Stopped {
    Stopped::new(Details {
        no_deadline: true,
        ..Details::of(Brief {
            cause: Cause::LocalBudgetRejected,
            phase: Phase::Start,
            operation: limit.operation,
            limit,
            deadline: None,
            budget: None,
            elapsed: std::time::Duration::ZERO,
        })
    })
}
