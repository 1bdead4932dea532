//! [`Exchange`]: one request from its head to the end of its answer.
//!
//! It lives in the response future until there is a head, then in the response body until the last frame, so that the
//! end of the request is seen wherever it comes. Each exchange ends in exactly one of these ways, and at most one event
//! is made:
//!
//! * [`finish`](Exchange::finish): the answer went out. Where nothing is enforced: what would have been stopped is said.
//! * [`stopped`](Exchange::stopped): the deadline or a cancel ended it, before or within the answer.
//! * dropped: whoever ran it has dropped it. The root context is cancelled, so that what the request spawned stops.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::CONNECTION;
use ::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;

use super::event::{self, Verdict};
use super::layer::Shared;
use super::progress::Stage;
use super::received::Refusal;
use crate::context::node::{Limits, Node, Seed};
use crate::context::{Context, Mode};
use crate::http::answer::{self, Answer};
use crate::http::codec;
use crate::http::grpc::AnsweredAs;
use crate::http::policy::Source;
use crate::http::shutdown::Open;
use crate::scope::Named;
use crate::stop::{Brief, Cause, Limit, Phase};
use crate::time::{Budget, Deadline, nanos};

/// Under what terms a request was let in.
pub(super) struct Terms {
    /// A gRPC request, and how it is answered.
    pub(super) grpc: Option<AnsweredAs>,
    /// When a gRPC caller stops waiting for the whole call, streams included.
    pub(super) total: Option<Deadline>,
    /// Which limit won.
    pub(super) source: Source,
    /// What it would have been refused for at its start, where nothing is refused.
    pub(super) would: Option<Cause>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            grpc: None,
            total: None,
            source: Source::Max,
            would: None,
        }
    }
}

/// It is moved with its answer, again and again: what hardly any request has lies elsewhere.
#[allow(
    clippy::struct_excessive_bools,
    reason = "they have nothing to do with each other"
)]
pub(super) struct Exchange {
    pub(super) shared: Arc<Shared>,
    pub(super) cx: Context,
    /// The context of a layer further out, or none.
    outer: Context,
    rare: Option<Box<Rare>>,
    /// When a gRPC caller stops waiting for the whole call, streams included.
    pub(super) total: Option<Deadline>,
    /// A shutdown waits for it.
    _in_flight: Option<Open>,
    pub(super) is_grpc: bool,
    /// Which limit won.
    source: Source,
    /// Set for the length of each poll. Dropped with it set, the request has panicked, which is not the client's doing.
    pub(super) polling: bool,
    /// Every byte of the answer is out: who drops it now does not leave.
    delivered: bool,
    open: bool,
}

#[derive(Default)]
struct Rare {
    /// Of a stream: the context of its head, which what its handler has spawned still has.
    head: Option<Context>,
    /// By how much the head of the answer came after the end of work, where nothing is enforced.
    over: Option<Duration>,
    /// Between two items of a stream there was more than this.
    silent: Option<Duration>,
    /// Of gRPC, where it is not the plain one.
    answered: Option<AnsweredAs>,
    /// What it would have been refused for at its start, where nothing is refused.
    would: Option<Cause>,
}

impl Exchange {
    #[inline]
    pub(super) fn new(
        shared: Arc<Shared>,
        cx: Context,
        outer: Context,
        terms: Terms,
        in_flight: Option<Open>,
    ) -> Self {
        let Terms {
            grpc,
            total,
            source,
            would,
        } = terms;
        let is_grpc = grpc.is_some();
        let answered = grpc.filter(|answered| !matches!(answered, AnsweredAs::Plain));
        let rare = (answered.is_some() || would.is_some()).then(|| {
            Box::new(Rare {
                answered,
                would,
                ..Rare::default()
            })
        });
        Self {
            open: cx.mode() != Mode::Off,
            shared,
            cx,
            outer,
            rare,
            total,
            _in_flight: in_flight,
            is_grpc,
            source,
            polling: false,
            delivered: false,
        }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn over(&self) -> Option<Duration> {
        self.rare.as_ref()?.over
    }

    fn silent(&self) -> Option<Duration> {
        self.rare.as_ref()?.silent
    }

    /// The context of the head, where the answer is a stream.
    fn head(&self) -> Option<&Context> {
        self.rare.as_ref()?.head.as_ref()
    }

    fn stage(&self) -> Stage {
        let request = self.head().unwrap_or(&self.cx);
        request.node().map_or(Stage::Queue, |node| Stage::of(node))
    }

    pub(super) fn enforces(&self) -> bool {
        self.cx.mode().enforces()
    }

    /// When the answer has to be out.
    pub(super) fn end(&self) -> Option<Deadline> {
        self.cx.node().and_then(|node| node.limits.hard)
    }

    /// When a gRPC answer has to be out: earlier, so that it is our status which ends the call and not the peer's
    /// clock or that of the server below us.
    pub(super) fn end_of_work(&self) -> Option<Deadline> {
        let node = self.cx.node()?;
        let soft = node.limits.soft?;
        // With less than the reserve it lies before the start.
        Some(soft.max(node.started))
    }

    /// A gRPC server below us ends the call by its own clock, with another status, as soon as it gets a turn: on a thread
    /// that was busy past the reserve there is none to give.
    pub(super) fn is_past_grpc(&self) -> bool {
        self.is_grpc && self.enforces() && self.end().is_some_and(Deadline::is_expired)
    }

    /// Why it was cancelled, if it was.
    pub(super) fn cancelled(&self) -> Option<Cause> {
        let cancelled = self.cx.node().and_then(|node| node.signal.get());
        cancelled.map(|(cause, _)| cause)
    }

    /// The request was stopped before there was an answer.
    pub(super) fn stopped(mut self, stop: Brief) -> Response<Bytes> {
        let stage = self.stage();
        let stop = match stop.phase {
            Phase::Wait => Brief {
                phase: stage.phase(),
                ..stop
            },
            _ => stop,
        };
        // The client has not delivered in time, and may be told so.
        let slow_client = stage == Stage::RequestBody && stop.cause == Cause::DeadlineExceeded;
        self.close(&stop);
        Answer {
            status: slow_client.then_some(StatusCode::REQUEST_TIMEOUT),
            ..self.answer(&stop)
        }
        .response(stop.cause)
    }

    /// It is not to be run.
    pub(super) fn refused(self, refusal: Refusal) -> Response<Bytes> {
        match refusal {
            Refusal::Malformed(malformed) => self.unreadable(malformed),
            Refusal::Shutdown { closes } => {
                let mut response = self.too_late();
                if closes {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(CONNECTION, close);
                }
                response
            }
        }
    }

    /// The server is being shut down.
    fn too_late(mut self) -> Response<Bytes> {
        let stop = self.brief(Cause::Shutdown, Phase::Start);
        self.close(&stop);
        self.answer(&stop).response(stop.cause)
    }

    /// The caller's deadline cannot be read.
    fn unreadable(mut self, malformed: codec::Malformed) -> Response<Bytes> {
        let stop = self.brief(Cause::BadDeadline, Phase::Start);
        self.close(&stop);
        Answer {
            text: Some(malformed.to_string()),
            ..self.answer(&stop)
        }
        .response(stop.cause)
    }

    /// The handler has answered, and its answer hides a stop.
    pub(super) fn replaced(mut self, stop: &Brief) -> Response<Bytes> {
        self.close(stop);
        self.answer(stop).response(stop.cause)
    }

    /// The answer was cut off within its body.
    pub(super) fn cut(mut self, cause: Cause) -> Brief {
        let stop = self.brief(cause, Phase::Body);
        self.close(&stop);
        stop
    }

    /// The same within a gRPC answer, whose end says why.
    pub(super) fn cut_with_trailers(mut self, cause: Cause) -> HeaderMap {
        let stop = self.brief(cause, Phase::Body);
        self.close(&stop);
        self.answer(&stop).trailers(cause)
    }

    /// A stream was silent for longer than it may be.
    pub(super) fn fell_silent(&mut self, idle: Duration) -> Cause {
        self.rare().silent = Some(idle);
        Cause::DeadlineExceeded
    }

    /// The same where nothing is enforced: it would have been the end, so long before the next item.
    pub(super) fn would_fall_silent(&mut self, idle: Duration, by: Duration) {
        let rare = self.rare();
        rare.silent = Some(idle);
        rare.over = Some(by);
    }

    /// There is a head, and what follows is a stream: from here on it has limits of its own, and what happens in it a
    /// context without the deadline of the head.
    pub(super) fn becomes_stream(&mut self) {
        let Some(head) = self.cx.node() else { return };
        let started = Deadline::now();
        let policy = &self.shared.policy;
        let asked = self.total.map(|total| {
            let reserve = policy.reserve_of(total.since(head.started));
            total.sooner(nanos(reserve))
        });
        let lasts = policy.lasts().map(|lasts| started.plus(lasts));
        let hard = Deadline::earlier(asked, lasts);
        let budget = hard.map_or_else(Budget::inherited, |hard| Budget::new(hard.since(started)));
        let operation = Named::new(self.shared.operation, self.shared.location, &budget);
        let seed = Seed {
            limits: Limits::of(hard, 0),
            limit: operation.limit(),
            own: false,
            started,
            mode: head.mode,
            depth: 0,
            of_scope: false,
            operation,
        };
        head.outlive();
        // Below the head's, so that a cancel of the request is one of its stream.
        let stream = Context::from_node(Node::child(head, seed));
        let head = std::mem::replace(&mut self.cx, stream);
        self.rare().head = Some(head);
    }

    /// The handler has answered with a stop of its own accord. What follows of the answer is not stopped again.
    pub(super) fn answered(mut self, stop: &Brief) {
        if self.open {
            self.close(stop);
        }
    }

    /// The end of the request as a whole.
    pub(super) fn of_request(&self, cause: Cause) -> Brief {
        self.brief(cause, self.stage().phase())
    }

    /// The answer went out, or was handed to an outer layer as an error.
    pub(super) fn finish(mut self) {
        self.ended_well();
    }

    /// All that was announced is out. What may follow still has to come in time.
    pub(super) const fn delivered(&mut self) {
        self.delivered = true;
    }

    pub(super) fn ended_well(&mut self) {
        if !self.open {
            return;
        }
        self.open = false;
        if self.enforces() {
            return;
        }
        let body = past(self.end());
        let (cause, phase) = match (self.rare.as_ref().and_then(|rare| rare.would), self.over()) {
            (Some(cause), _) => (cause, Phase::Start),
            (None, Some(_)) if self.silent().is_some() => (Cause::DeadlineExceeded, Phase::Body),
            (None, Some(_)) => (Cause::DeadlineExceeded, Phase::Wait),
            (None, None) if body.is_some() => (Cause::DeadlineExceeded, Phase::Body),
            (None, None) => return,
        };
        let by = self.over().or(body).unwrap_or_default();
        let stop = self.brief(cause, phase);
        self.say(&stop, Verdict::WouldStop(by));
    }

    /// There is a head; what follows is its body.
    pub(super) fn headed(&mut self) {
        if !self.enforces()
            && let Some(over) = past(self.end_of_work())
        {
            self.rare().over = Some(over);
        }
        if let Some(node) = self.cx.node() {
            Stage::ResponseBody.enter(node);
        }
    }

    /// Stops whatever belongs to the request; the cause is the one that was there first.
    fn cancel(&self, cause: Cause) -> Cause {
        self.cx.cancel(cause);
        let cause = self.cancelled().unwrap_or(cause);
        if let Some(head) = self.head() {
            head.cancel(cause);
        }
        cause
    }

    fn close(&mut self, stop: &Brief) {
        self.open = false;
        self.cancel(stop.cause);
        self.say(stop, Verdict::Stopped);
    }

    fn say(&self, stop: &Brief, verdict: Verdict) {
        event::emit(&self.cx, stop, self.source, verdict);
    }

    fn answer(&self, stop: &Brief) -> Answer {
        let policy = &self.shared.policy;
        Answer {
            request_id: self.cx.request_id(),
            detail: policy
                .shows_detail()
                .then(|| answer::detail(stop))
                .flatten(),
            retry_after: Some(policy.retries_after()),
            grpc: self.is_grpc.then(|| {
                let answered = self.rare.as_ref().and_then(|rare| rare.answered.as_ref());
                answered.unwrap_or(&AnsweredAs::Plain).value()
            }),
            ..Answer::default()
        }
    }

    /// A stop of the request as a whole.
    fn brief(&self, cause: Cause, phase: Phase) -> Brief {
        let node = self.cx.node();
        let started = node.map_or_else(Deadline::now, |node| node.started);
        Brief {
            cause,
            phase,
            operation: self.shared.operation,
            limit: Limit {
                operation: self.shared.operation,
                location: self.shared.location,
            },
            deadline: self.end(),
            budget: self.silent().or_else(|| Some(self.end()?.since(started))),
            elapsed: Deadline::now().since(started),
        }
    }
}

fn past(end: Option<Deadline>) -> Option<Duration> {
    let over = Deadline::now().since(end?);
    (!over.is_zero()).then_some(over)
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        if self.delivered {
            return self.ended_well();
        }
        self.open = false;
        // Ended by a layer further out, which says so itself.
        if let Some(cause) = self.outer.cause() {
            self.cancel(cause);
            return;
        }
        let cause = if self.shared.outermost && !self.polling {
            Cause::ClientCancelled
        } else {
            Cause::Abandoned
        };
        // What the order of events says: after the deadline nobody can leave any more.
        let cause = self.cancel(cause);
        let stop = self.brief(cause, self.stage().phase());
        self.say(&stop, Verdict::Stopped);
    }
}
