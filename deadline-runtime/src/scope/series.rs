//! [`Series`]: the scope around something that yields many values, one after another.
//!
//! It is the state machine of [`life`](super::life), which is not over when a value is ready: the wait for the next one begins.
//! Two ends count: the scope's own, and that of the wait for one item, which moves with every item.

use std::panic::Location;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use futures_core::Stream;

use super::drive::Parting;
use super::life::{Next, Refused, Running};
use super::run::take_on;
use super::state::{Flag, Phase, State};
use crate::context::Context;
use crate::context::current::{self, Inherited};
use crate::stop::{Cause, Limit, Phase as StopPhase, Stopped};
use crate::time::{Budget, Deadline};

pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) total: Budget,
    pub(crate) gap: Option<Duration>,
    pub(crate) phase: StopPhase,
    location: &'static Location<'static>,
    captured: Option<Inherited>,
    state: State,
    /// `None` before the first poll.
    begun: Option<Begun>,
    over: bool,
}

/// What was found out at the first poll, and where the wait for the next item began.
#[derive(Clone, Copy)]
struct Begun {
    hard: Option<Deadline>,
    soft: Option<Deadline>,
    binds: bool,
    waits_since: Deadline,
    /// An item was ready when the end had come already: it was kept, and is the last one.
    ended: Option<Cause>,
}

impl Series {
    pub(crate) fn new(name: &'static str, location: &'static Location<'static>) -> Self {
        Self {
            name,
            total: Budget::inherited(),
            gap: None,
            phase: StopPhase::Body,
            location,
            captured: current::inherit(),
            state: State::under(None, None),
            begun: None,
            over: false,
        }
    }

    /// Whether the stop is to be told by the next poll, without a look at the stream.
    pub(crate) fn is_ended(&self) -> bool {
        self.begun.is_some_and(|begun| begun.ended.is_some())
    }

    /// Drops the stream, inside its context if it has begun.
    pub(crate) fn abandon<S>(&mut self, mut stream: Pin<&mut Option<S>>) {
        if !self.state.is_over() {
            let parting = Parting::dropped(&mut self.state);
            stream.set(None);
            parting.done();
        }
    }

    pub(crate) fn poll<S: Stream>(
        &mut self,
        mut stream: Pin<&mut Option<S>>,
        cx: &mut task::Context<'_>,
    ) -> Poll<Option<Result<S::Item, Stopped>>> {
        if self.over {
            return Poll::Ready(None);
        }
        loop {
            match self.begin(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(Refused)) => {
                    let stopped = self.state.refused();
                    self.over = true;
                    stream.set(None);
                    return Poll::Ready(Some(Err(stopped)));
                }
                Poll::Pending => return Poll::Pending,
            }
            let ended = self.is_ended();
            let running = Running::begun(&mut self.state);
            let polled = match stream.as_mut().as_pin_mut() {
                _ if ended => Poll::Pending,
                Some(stream) => stream.poll_next(cx),
                None => Poll::Ready(None),
            };
            match polled {
                Poll::Ready(Some(item)) => {
                    self.begun = self.begun.map(Begun::with_item);
                    drop(running);
                    self.state.wait_again();
                    return Poll::Ready(Some(Ok(item)));
                }
                Poll::Ready(None) => {
                    drop(running);
                    self.over = true;
                    self.state.completed();
                    stream.set(None);
                    self.state.gone(false);
                    return Poll::Ready(None);
                }
                Poll::Pending => {}
            }
            match running.pending(cx) {
                Next::Wait => return Poll::Pending,
                Next::Again => {}
                Next::End(end) => {
                    let stopped = self.state.stop(end);
                    self.over = true;
                    let parting = Parting::stopped(&mut self.state);
                    stream.set(None);
                    parting.done();
                    self.state.gone(true);
                    return Poll::Ready(Some(Err(self.told(stopped))));
                }
            }
        }
    }

    /// Puts the scope's frame in place, with the end that holds for this poll.
    fn begin(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Refused>> {
        if let Some(begun) = self.begun {
            if let Some(cause) = begun.ended {
                self.state.finish(cause);
            }
            self.hold_to(begun);
            return self.state.begin(cx.waker());
        }
        if self.state.node.is_none() {
            // Without any context it is a request of its own, and the total is that request's deadline.
            let parent = current::captured_or_polling(self.captured.take());
            let context = Context::below(parent, self.name, self.total, self.location, false);
            if let Some(node) = context.node() {
                take_on(&mut self.state, node.clone());
            }
        }
        let admitted = self.state.begin(cx.waker());
        if matches!(admitted, Poll::Ready(Ok(()))) {
            // The node is in the frame: what is found there is what holds.
            let limits = current::with(|frame| frame.limits).unwrap_or_default();
            let begun = Begun {
                hard: limits.hard,
                soft: limits.soft,
                binds: self.state.flags.has(Flag::Binds),
                waits_since: self.state.started.unwrap_or_else(Deadline::now),
                ended: None,
            };
            self.begun = Some(begun);
            self.hold_to(begun);
            let binds = self.state.flags.has(Flag::Binds);
            let hard = self.state.hard;
            current::with(|frame| {
                frame.limits.hard = hard;
                frame.limits.soft = Deadline::earlier(frame.limits.soft, hard);
                frame.binds = binds;
            });
        }
        admitted
    }

    /// Makes the end of the wait for this item the scope's end, if it is the earlier one. On a tie it is not.
    fn hold_to(&mut self, begun: Begun) {
        let gap = self.gap.map(|gap| begun.waits_since.plus(gap));
        let gap =
            gap.filter(|gap| begun.ended.is_none() && begun.soft.is_none_or(|soft| *gap < soft));
        self.state.hard = gap.or(begun.hard);
        self.state
            .flags
            .set(Flag::Binds, gap.is_some() || begun.binds);
        if gap.is_some() || self.state.driver.is_some() {
            let limit = Limit {
                operation: self.name,
                location: self.location,
            };
            self.state.driver().set_limit(gap.map(|_| limit));
        }
    }

    /// The stop as it is told: in what it was, and for one item how long that was waited for.
    fn told(&self, stopped: Stopped) -> Stopped {
        let stopped = stopped.in_phase(self.phase);
        match (self.gap, self.begun) {
            (Some(gap), Some(begun))
                if stopped.cause() == Cause::DependencyTimeout
                    && self.state.hard == Some(begun.waits_since.plus(gap)) =>
            {
                stopped.of_a_wait(gap, begun.waits_since)
            }
            _ => stopped,
        }
    }
}

impl Begun {
    /// An item is there. The clock is read: a stream that is always ready gets no other look at it.
    fn with_item(self) -> Self {
        let now = Deadline::now();
        let limit_cause = if self.binds {
            Cause::DependencyTimeout
        } else {
            Cause::DeadlineExceeded
        };
        let over = |at: Deadline| self.soft.is_some_and(|soft| soft <= at);
        let ended = current::with(|frame| match frame.cancelled() {
            _ if !frame.mode.enforces() => None,
            Some((cause, at)) if !over(at) => Some(cause),
            Some(_) => Some(limit_cause),
            None => over(now).then_some(limit_cause),
        });
        Self {
            waits_since: now,
            ended: ended.flatten(),
            ..self
        }
    }
}

impl State {
    /// A value was ready: a stop that was on its way to the body is not one any more.
    fn wait_again(&mut self) {
        self.phase = Phase::Running;
        self.cause = None;
        self.deliveries = 0;
    }

    /// Everything has been delivered that could be: the next time it is pending it ends.
    fn finish(&mut self, cause: Cause) {
        self.phase = Phase::Yielded;
        self.cause = Some(cause);
    }
}
