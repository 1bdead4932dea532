//! [`Lane`]: one branch while it runs.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{self, Poll};

use pin_project_lite::pin_project;

use super::branch::{Branch, Kind, Settled};
use super::gathered::Missed;
use crate::context::current::Inherited;
use crate::context::node::Node;
use crate::context::{Context, Missing};
use crate::scope::Run;
use crate::stop::Cause;
use crate::time::Budget;

pin_project! {
    /// A branch with its scope, and its value once that is there.
    pub struct Lane<F, N, V>
    where
        F: Future,
    {
        name: &'static str,
        location: &'static Location<'static>,
        budget: Budget,
        need: N,
        // Made when the branch begins: its budget starts there.
        context: Option<Context>,
        // Gone when the branch has ended.
        #[pin]
        run: Option<Run<F>>,
        value: Option<V>,
    }
}

/// How a poll of a branch ended.
pub enum Step<E> {
    /// With a value.
    Value,
    /// Without one; the answer can do without.
    Missed(Missing),
    /// Without one; there will be no answer.
    Failed(E),
}

impl<E> Step<E> {
    pub(super) fn map<X>(self, map: impl FnOnce(E) -> X) -> Step<X> {
        match self {
            Self::Value => Step::Value,
            Self::Missed(missing) => Step::Missed(missing),
            Self::Failed(error) => Step::Failed(map(error)),
        }
    }
}

impl<F: Future, N, V> Lane<F, N, V> {
    pub(super) fn new<C>(branch: Branch<F, N, C>) -> Self {
        Self {
            name: branch.name,
            location: branch.location,
            budget: branch.budget,
            need: branch.need,
            context: None,
            run: Some(Run::later(branch.future)),
            value: None,
        }
    }

    /// Stops the branch because another one has failed. True if it still has to be polled to its end.
    pub(super) fn stop(self: Pin<&mut Self>) -> bool {
        let mut this = self.project();
        if this.run.is_none() {
            return false;
        }
        match this.context {
            Some(context) if context.mode().enforces() => {
                context.cancel(Cause::SiblingFailed);
                true
            }
            // Not begun, or nothing would end it.
            _ => {
                this.run.set(None);
                false
            }
        }
    }

    pub(super) fn take(self: Pin<&mut Self>) -> Option<V> {
        self.project().value.take()
    }
}

impl<F, N, T, E> Lane<F, N, N::Value>
where
    F: Future<Output = Result<T, E>>,
    N: Kind<T, E>,
{
    /// Polls the branch, which begins below `parent` if it has not yet. `moot` says that nobody will ask for its
    /// outcome: then it leaves no trace of a stop in the request.
    pub(super) fn poll(
        self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        parent: &Inherited,
        moot: bool,
    ) -> Poll<Step<N::Fails>> {
        let mut this = self.project();
        let Some(mut run) = this.run.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let context = this.context.get_or_insert_with(|| {
            let context = Context::below(
                Some(parent.clone()),
                this.name,
                *this.budget,
                this.location,
                false,
            );
            run.as_mut().begin_under(context.node().cloned());
            context
        });
        let Some(node) = context.node() else {
            return Poll::Pending;
        };
        let before = node.take_noted();
        let polled = run.poll(cx);
        let outcome = match polled {
            Poll::Pending => {
                if moot {
                    node.renote(before);
                } else {
                    node.note_again(before);
                }
                return Poll::Pending;
            }
            Poll::Ready(Ok(Ok(value))) => Ok(value),
            Poll::Ready(Ok(Err(error))) => Err(Missed::Failed {
                cause: cause_of_error(context, node),
                error,
            }),
            Poll::Ready(Err(stopped)) => Err(Missed::Stopped(stopped)),
        };
        let missing = outcome.as_ref().err().map(|missed| Missing {
            operation: this.name,
            cause: missed.cause(),
        });
        let step = match this.need.settle(outcome) {
            Settled::Value(value) => {
                *this.value = Some(value);
                node.note_again(before);
                Step::Value
            }
            Settled::Missed(value) => {
                *this.value = Some(value);
                node.renote(before);
                missing.map_or(Step::Value, |missing| {
                    if !moot {
                        node.records().missing(missing.clone());
                    }
                    Step::Missed(missing)
                })
            }
            Settled::Failed(error) => {
                if moot {
                    node.renote(before);
                } else {
                    node.note_again(before);
                }
                Step::Failed(error)
            }
        };
        this.run.set(None);
        Poll::Ready(step)
    }
}

/// Why a branch came back with an error. Most error types hide a stop, so it is asked for where it was noted.
fn cause_of_error(context: &Context, node: &std::sync::Arc<Node>) -> Cause {
    context
        .cause()
        .or_else(|| node.noted_stop().map(|(stop, _)| stop.cause))
        .unwrap_or(Cause::DependencyFailed)
}
