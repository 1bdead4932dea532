//! [`FinishOnDisconnectLayer`]: endpoints that finish though their client has gone.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use ::http::Request;
use pin_project_lite::pin_project;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tower_service::Service;

use crate::context::node::{Node, Request as OfRequest, Seed};
use crate::context::{Cancelled, Context};
use crate::scope::{Run, TARGET};
use crate::stop::{Cause, Stopped};

/// Lets an endpoint finish when its client leaves: a payment that was begun, a cache that is being filled.
///
/// The service below it runs in a task of its own that is not stopped by `client_cancelled` or `abandoned`. Everything
/// else holds as before: the request's deadline, its overrides, its report, and every other cancel (a shutdown, an
/// overload). The answer is thrown away; the event of the request says `client_cancelled` all the same, because its client
/// has none.
///
/// It belongs inside a [`DeadlineLayer`](super::DeadlineLayer), on the endpoints that need it. The tasks are tracked:
/// [`working`](Self::working) counts them, [`settled`](Self::settled) waits for them at a shutdown.
///
/// ```
/// use deadline_runtime::http::{DeadlineLayer, FinishOnDisconnectLayer, Policy};
/// use tower::ServiceBuilder;
///
/// let finish = FinishOnDisconnectLayer::new();
/// let stack = ServiceBuilder::new()
///     .layer(DeadlineLayer::new("POST /payments", Policy::new()))
///     .layer(finish.clone());
/// assert_eq!(finish.working(), 0);
/// # let _ = stack;
/// ```
#[derive(Debug, Clone)]
pub struct FinishOnDisconnectLayer {
    working: watch::Sender<usize>,
}

impl FinishOnDisconnectLayer {
    /// A layer that has begun nothing yet. Its clones count together.
    #[must_use]
    pub fn new() -> Self {
        Self {
            working: watch::Sender::new(0),
        }
    }

    /// How many requests are being worked on, clients there or not.
    #[must_use]
    pub fn working(&self) -> usize {
        *self.working.borrow()
    }

    /// Waits until none is. It is bounded by the deadlines of the requests.
    pub async fn settled(&self) {
        let mut working = self.working.subscribe();
        // The sender is `self`, so it cannot be gone.
        let _ = working.wait_for(|working| *working == 0).await;
    }
}

impl Default for FinishOnDisconnectLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for FinishOnDisconnectLayer {
    type Service = FinishOnDisconnect<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FinishOnDisconnect {
            inner,
            working: self.working.clone(),
        }
    }
}

/// The service of a [`FinishOnDisconnectLayer`].
#[derive(Debug, Clone)]
pub struct FinishOnDisconnect<S> {
    inner: S,
    working: watch::Sender<usize>,
}

impl<S, B> Service<Request<B>> for FinishOnDisconnect<S>
where
    S: Service<Request<B>>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = FinishFuture<S::Response, S::Error>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let outer = Context::current();
        let apart = apart(&outer);
        request.extensions_mut().insert(apart.clone());
        let call = apart.enter(|| self.inner.call(request));
        let work = Work {
            run: Run::quiet(apart.node().cloned(), call),
            cancelled: outer.cancelled(),
            apart,
            _counted: Counted::one(&self.working),
        };
        FinishFuture {
            task: Some(tokio::spawn(work)),
            outer,
        }
    }
}

/// A context with the limits of `outer` that is not cancelled with it.
fn apart(outer: &Context) -> Context {
    let Some(node) = outer.node() else {
        return Context::none();
    };
    let seed = Seed {
        operation: node.operation.clone(),
        limits: node.limits,
        limit: node.limit,
        own: node.own,
        started: node.started,
        mode: node.mode,
        depth: node.depth,
        of_scope: false,
    };
    Context::from_node(Node::root(seed, Some(Box::new(OfRequest::within(node)))))
}

/// One task in the count, however it ends.
struct Counted(watch::Sender<usize>);

impl Counted {
    fn one(working: &watch::Sender<usize>) -> Self {
        working.send_modify(|working| *working = working.saturating_add(1));
        Self(working.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0
            .send_modify(|working| *working = working.saturating_sub(1));
    }
}

pin_project! {
    /// What runs in the task.
    struct Work<F>
    where
        F: Future,
    {
        #[pin]
        run: Run<F>,
        // That of the request, whose client may leave.
        #[pin]
        cancelled: Cancelled,
        apart: Context,
        _counted: Counted,
    }
}

impl<F: Future> Future for Work<F> {
    type Output = Result<F::Output, Stopped>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(cause) = this.cancelled.poll(cx) {
            match cause {
                // The first two are what it is there for; at the deadline its own clock says the same.
                Cause::ClientCancelled | Cause::Abandoned | Cause::DeadlineExceeded => {}
                cause => {
                    this.apart.cancel(cause);
                }
            }
        }
        this.run.poll(cx)
    }
}

/// The future of a [`FinishOnDisconnect`]: dropped, it leaves its work to itself.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct FinishFuture<R, E> {
    /// None once it has ended.
    task: Option<JoinHandle<Result<Result<R, E>, Stopped>>>,
    outer: Context,
}

impl<R, E> Future for FinishFuture<R, E> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Some(task) = &mut self.task else {
            return Poll::Pending;
        };
        let ended = ready!(Pin::new(task).poll(cx));
        self.task = None;
        match ended {
            Ok(Ok(answer)) => Poll::Ready(answer),
            Ok(Err(stopped)) => {
                // The layer around it answers for what has stopped.
                self.outer.cancel(stopped.cause());
                Poll::Pending
            }
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Aborted: the runtime is going.
                Err(_) => Poll::Pending,
            },
        }
    }
}

impl<R, E> Drop for FinishFuture<R, E> {
    fn drop(&mut self) {
        if self.task.as_ref().is_some_and(|task| !task.is_finished()) {
            let id = self.outer.request_id();
            tracing::debug!(
                target: TARGET,
                request_id = id.as_deref().unwrap_or(""),
                "its client has gone, it works on"
            );
        }
    }
}
