//! [`Blocking`]: a closure on a thread of its own.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, ready};

use pin_project_lite::pin_project;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;

use super::error::Payload;
use super::tracker::Gauge;
use crate::context::Context;
use crate::context::node::Node;
use crate::scope::{Run, TARGET};
use crate::stop::{Cause, Phase, Stopped};
use crate::time::Budget;

impl Context {
    /// Runs a synchronous closure on tokio's threads for blocking work, under this context's deadline.
    ///
    /// * Nothing starts in a context that is stopped, and a closure that has waited for a thread looks again before it
    ///   begins: one whose waiter has left never runs.
    /// * The closure is given a context: [`Context::check`] and `#[checkpoint]` read the clock, so that a loop ends at the
    ///   deadline. It is the ambient one inside as well.
    /// * The waiter returns at the deadline, at once. A closure that runs on then, because it cannot be interrupted, is an
    ///   orphan: its context is cancelled, and it is counted in [`Report::orphans_running`](crate::Report::orphans_running)
    ///   until it ends.
    /// * With a [limit](Blocking::limit), the place belongs to the closure: an orphan keeps it.
    ///
    /// Nothing begins before the future is awaited.
    ///
    /// ```
    /// use std::time::Duration;
    /// use deadline_runtime::{Budget, Context};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let request = Context::root("request", Budget::new(Duration::from_secs(60)));
    /// let sum = request.blocking(|cx| (1..=4).filter(|_| cx.check().is_ok()).sum::<u32>());
    /// assert_eq!(sum.await.unwrap(), 10);
    /// # }
    /// ```
    #[track_caller]
    pub fn blocking<W, T>(&self, work: W) -> Blocking<T>
    where
        W: FnOnce(Self) -> T + Send + 'static,
        T: Send + 'static,
    {
        Blocking {
            parent: self.clone(),
            location: Location::caller(),
            job: Some(Job {
                context: Self::none(),
                start: Some(Box::new(|context, node, place| {
                    Running::start(context, node, place, work)
                })),
                places: None,
                turn: None,
                running: None,
            }),
            run: None,
        }
    }
}

pin_project! {
    /// The future of [`Context::blocking`].
    ///
    /// # Errors
    /// [`Stopped`] when the context was stopped before the closure had ended, or had begun.
    ///
    /// # Panics
    /// With the closure's own panic, and when it is first polled outside a tokio runtime, as
    /// [`tokio::task::spawn_blocking`] does.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Blocking<T> {
        parent: Context,
        location: &'static Location<'static>,
        job: Option<Job<T>>,
        #[pin]
        run: Option<Run<Job<T>>>,
    }
}

impl<T> Blocking<T> {
    /// Waits for one of these places before it begins, and keeps it until the closure itself has ended.
    pub fn limit(mut self, places: &Arc<Semaphore>) -> Self {
        if let Some(job) = &mut self.job {
            job.places = Some(places.clone());
        }
        self
    }
}

impl<T> Future for Blocking<T> {
    type Output = Result<T, Stopped>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(mut job) = this.job.take() {
            let (context, node) =
                this.parent
                    .below_at("blocking", Budget::inherited(), this.location);
            job.context = context;
            this.run.set(Some(Run::new(Some(node), false, job)));
        }
        match this.run.as_pin_mut() {
            Some(run) => run.poll(cx).map(|outcome| outcome.and_then(|inner| inner)),
            None => Poll::Pending,
        }
    }
}

type Turn = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

type Start<T> =
    Box<dyn FnOnce(Context, Arc<Node>, Option<OwnedSemaphorePermit>) -> Running<T> + Send>;

/// What waits for the closure.
struct Job<T> {
    context: Context,
    start: Option<Start<T>>,
    places: Option<Arc<Semaphore>>,
    turn: Option<Turn>,
    running: Option<Running<T>>,
}

impl<T> Future for Job<T> {
    type Output = Result<T, Stopped>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(places) = this.places.take() {
            this.turn = Some(Box::pin(async move { places.acquire_owned().await.ok() }));
        }
        let mut place = None;
        if let Some(turn) = &mut this.turn {
            place = ready!(turn.as_mut().poll(cx));
            this.turn = None;
            if place.is_none() {
                // Somebody has closed the places: there will be none.
                this.start = None;
                let stopped = this.context.stop_error_of(Cause::Overload, Phase::Queue);
                return Poll::Ready(Err(stopped));
            }
        }
        if let (Some(start), Some(node)) = (this.start.take(), this.context.node()) {
            this.running = Some(start(this.context.clone(), node.clone(), place));
        }
        let Some(running) = &mut this.running else {
            return Poll::Pending;
        };
        let received = ready!(Pin::new(&mut running.result).poll(cx));
        this.running = None;
        match received {
            Ok(Ok(result)) => Poll::Ready(result),
            Ok(Err(payload)) => resume_unwind(payload),
            // The runtime is shutting down and has thrown it away.
            Err(_) => {
                let stopped = this.context.stop_error_of(Cause::Shutdown, Phase::Queue);
                Poll::Ready(Err(stopped))
            }
        }
    }
}

/// A closure that was handed to a thread, seen by its waiter.
struct Running<T> {
    context: Context,
    closure: Arc<Closure>,
    result: oneshot::Receiver<Result<Result<T, Stopped>, Payload>>,
    handle: JoinHandle<()>,
}

impl<T: Send + 'static> Running<T> {
    fn start(
        context: Context,
        node: Arc<Node>,
        place: Option<OwnedSemaphorePermit>,
        work: impl FnOnce(Context) -> T + Send + 'static,
    ) -> Self {
        let closure = Arc::new(Closure {
            stage: Mutex::new(Stage::Queued),
            node,
        });
        let (send, result) = oneshot::channel();
        let (inside, ended) = (context.clone(), Ended(closure.clone()));
        // Slots of the request, which it takes up as long as it runs.
        let kept = closure.node.kept();
        let handle = tokio::task::spawn_blocking(move || {
            let (ended, place, kept) = (ended, place, kept);
            if !ended.0.begin() {
                return;
            }
            let outcome = match inside.check() {
                Ok(()) => {
                    let work = AssertUnwindSafe(|| inside.enter(|| Ok(work(inside.clone()))));
                    catch_unwind(work)
                }
                Err(stopped) => Ok(Err(stopped)),
            };
            // Whoever learns of the result finds the place free.
            drop((place, kept));
            drop(ended);
            let _ = send.send(outcome);
        });
        Self {
            context,
            closure,
            result,
            handle,
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if self.closure.leave() {
            self.context.cancel(Cause::Abandoned);
            let node = &self.closure.node;
            let request_id = node.request_id();
            tracing::warn!(
                target: TARGET,
                op = node.parent_name(),
                request_id = request_id.as_deref().unwrap_or(""),
                "a blocking closure still runs after its waiter has left"
            );
        }
        // Takes one that has not begun out of the queue.
        self.handle.abort();
    }
}

/// How far a closure has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for a thread.
    Queued,
    /// It runs, and somebody waits for it.
    Running,
    /// It runs, and nobody waits.
    Orphan,
    /// It is over, or will never begin.
    Over,
}

/// What a closure's thread and its waiter know of each other.
struct Closure {
    stage: Mutex<Stage>,
    node: Arc<Node>,
}

impl Closure {
    /// Queued → Running; false if its waiter has left.
    fn begin(&self) -> bool {
        let mut stage = self.stage();
        let begins = *stage == Stage::Queued;
        if begins {
            *stage = Stage::Running;
        }
        begins
    }

    /// Queued → Over, Running → Orphan, when its waiter leaves; true if it runs on.
    fn leave(&self) -> bool {
        let mut stage = self.stage();
        match *stage {
            Stage::Queued => *stage = Stage::Over,
            Stage::Running => {
                *stage = Stage::Orphan;
                self.node.orphans(Gauge::OrphanClosures, 1);
            }
            Stage::Orphan | Stage::Over => {}
        }
        *stage == Stage::Orphan
    }

    /// → Over.
    fn end(&self) {
        let mut stage = self.stage();
        if std::mem::replace(&mut *stage, Stage::Over) == Stage::Orphan {
            self.node.orphan_ended(Gauge::OrphanClosures);
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that the closure is over, however it ends.
struct Ended(Arc<Closure>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<T> fmt::Debug for Blocking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocking").field(&self.parent).finish()
    }
}
