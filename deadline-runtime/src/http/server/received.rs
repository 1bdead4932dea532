//! From a request head to a root context.

use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderValue, Method, Request, Version};

use super::asked::Asked;
use super::exchange::{Exchange, Terms};
use super::head::{Head, Name, forget};
use super::layer::Shared;
use crate::context::id::{Drawn, Id};
use crate::context::{Context, Mode, Overrides, RootBuilder};
use crate::http::codec;
use crate::http::grpc;
use crate::http::header::REQUEST_ID;
use crate::http::policy::{Malformed, Source, Trust};
use crate::http::request_id::Ids;
use crate::scope::TARGET;
use crate::stop::Cause;
use crate::time::{Budget, Deadline, Short, nanos};

/// What the head says.
pub(super) struct Received {
    pub(super) exchange: Exchange,
    /// The request is to be refused without a run.
    pub(super) refused: Option<Refusal>,
}

/// Why a request is not run at all.
#[derive(Clone, Copy)]
pub(super) enum Refusal {
    Malformed(codec::Malformed),
    /// The server is being shut down.
    Shutdown {
        /// The connection has to be told.
        closes: bool,
    },
}

impl Received {
    /// Reads the head, and makes it what the service below is to see.
    pub(super) fn of<B>(shared: &Arc<Shared>, request: &mut Request<B>) -> Self {
        let arrived = Deadline::now();
        let policy = &shared.policy;
        // A layer further out has been here: one request, one id, and its deadline holds.
        let outer = request.extensions().get::<Context>().cloned();
        let known = outer.as_ref().and_then(Context::request_id);
        let head = Head::of(request.headers());
        let identity = match known.or_else(|| head.id(request.headers())) {
            Some(id) => Identity::Taken(id),
            None => Identity::made(&shared.ids),
        };
        let mode = policy.mode_of(|| identity.text());
        let mut terms = Terms::default();
        if *request.method() == Method::POST {
            terms.grpc = head.first(Name::ContentType).and_then(grpc::answered_as);
        }
        let mut root = RootBuilder::new(shared.operation, shared.location)
            .mode(mode)
            .identified(identity.id())
            .started(arrived);
        let outer_node = outer.as_ref().and_then(Context::node);
        let inherited = outer_node.and_then(|node| node.tracker());
        if let Some(tracker) = shared.tracker.as_ref().or(inherited) {
            root = root.tracker(tracker);
        }
        let mut refused = None;
        if mode != Mode::Off {
            let mut asked = Asked::of(policy, &head, request.headers(), terms.grpc.is_some());
            if let Some(malformed) = asked.malformed {
                match policy.on_malformed() {
                    Malformed::Reject => {
                        refused = mode.enforces().then_some(Refusal::Malformed(malformed));
                        terms.would = Some(Cause::BadDeadline);
                    }
                    Malformed::Default => {
                        unreadable(malformed, shared.operation, identity.text());
                    }
                }
            }
            let granted = Granted::of(shared, &mut asked);
            if let Some(header) = asked.skewed {
                shared.skewed(header, identity.text());
            }
            terms.source = granted.source;
            terms.would = terms.would.or(granted.would);
            let started = arrived.sooner(nanos(asked.queued));
            let of_call = asked.time.filter(|_| terms.grpc.is_some());
            terms.total = of_call.map(|(time, _)| started.plus(time));
            let budget = Budget::new(granted.time)
                .reserve(granted.reserve)
                .min(policy.least());
            if let Some(overrides) = policy.overriding() {
                root = root.overrides(overrides);
            }
            let attempt = outer.as_ref().and_then(Context::attempt);
            root = root
                .started(started)
                .budget(budget)
                .report(policy.reports())
                .attempt(attempt.or(asked.attempt));
            if let Some(end) = outer.as_ref().and_then(Context::deadline) {
                root = root.deadline(end);
                if end < started.plus(granted.time) {
                    terms.source = Source::Outer;
                }
            }
            if tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
                admitted(
                    shared.operation,
                    &granted,
                    &terms,
                    asked.queued,
                    identity.text(),
                );
            }
        }
        let cx = root.build();
        let open = shared.shutdown.as_ref().map(|all| all.let_in(&cx));
        if let Some(None) = open {
            let closes = request.version() < Version::HTTP_2;
            refused = Some(Refusal::Shutdown { closes });
        }
        if mode.propagates() {
            let ignored = policy.trusts() == Trust::Ignore && head.is_of_caller();
            let headers = request.headers_mut();
            if ignored {
                forget(headers);
            }
            if let Identity::Made(_, digits) = &identity
                && let Ok(id) = HeaderValue::from_bytes(digits)
            {
                headers.insert(REQUEST_ID, id);
            }
        }
        request.extensions_mut().insert(cx.clone());
        let exchange = Exchange::new(shared.clone(), cx, outer, terms, open.flatten());
        Self { exchange, refused }
    }
}

/// Which request it is.
enum Identity {
    Taken(Arc<str>),
    Made(Drawn, [u8; 32]),
}

impl Identity {
    fn made(ids: &Ids) -> Self {
        let drawn = ids.draw();
        Self::Made(drawn, drawn.digits())
    }

    fn id(&self) -> Id {
        match self {
            Self::Taken(id) => Id::Text(id.clone()),
            Self::Made(drawn, _) => Id::Drawn(*drawn),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Taken(id) => id,
            Self::Made(_, digits) => std::str::from_utf8(digits).unwrap_or_default(),
        }
    }
}

/// What a request may take.
struct Granted {
    time: Duration,
    source: Source,
    reserve: Duration,
    /// What the run would be refused for where nothing is refused. Where it is, the run finds out itself.
    would: Option<Cause>,
}

impl Granted {
    fn of(shared: &Shared, asked: &mut Asked) -> Self {
        let policy = &shared.policy;
        let overrides = policy.overriding().and_then(Overrides::table);
        let overriding = overrides.and_then(|table| table.of_boundary(shared.operation));
        let grant = |asked: &Asked| {
            let (time, source) = policy.granted(asked.time, overriding);
            let reserve = policy.reserve_of(time);
            let would = too_little(time, asked.queued, reserve, policy.least());
            Self {
                time,
                source,
                reserve,
                would,
            }
        };
        let granted = grant(asked);
        if granted.would.is_some() {
            asked.disbelieve();
            return grant(asked);
        }
        granted
    }
}

fn too_little(
    granted: Duration,
    queued: Duration,
    reserve: Duration,
    least: Duration,
) -> Option<Cause> {
    let left = granted.saturating_sub(queued);
    if left.is_zero() {
        return Some(Cause::DeadlineExceeded);
    }
    let least = least.max(Duration::from_millis(1));
    (left.saturating_sub(reserve) < least).then_some(Cause::LocalBudgetRejected)
}

fn unreadable(malformed: codec::Malformed, operation: &str, id: &str) {
    tracing::debug!(
        target: TARGET,
        cause = Cause::BadDeadline.as_str(),
        header = malformed.header(),
        op = operation,
        request_id = id,
        "unreadable, the default counts"
    );
}

fn admitted(operation: &str, granted: &Granted, terms: &Terms, queued: Duration, id: &str) {
    tracing::debug!(
        target: TARGET,
        op = operation,
        budget = %Short(granted.time),
        granted_by = terms.source.as_str(),
        reserve = %Short(granted.reserve),
        queued = %Short(queued),
        request_id = id,
        "received"
    );
}
