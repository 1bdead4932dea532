//! From a request head to a root context.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, Method, Request, Version};

use super::asked::Asked;
use super::exchange::{Exchange, Terms};
use super::head::{Head, forget};
use super::layer::Shared;
use crate::context::id::{Drawn, Id};
use crate::context::node::{Limits, Node, Request as OfRequest, Seed};
use crate::context::overrides::Table;
use crate::context::{Context, Mode, Overrides};
use crate::http::codec;
use crate::http::header::REQUEST_ID;
use crate::http::policy::{Malformed, Policy, Said, Source, Trust};
use crate::http::request_id::Ids;
use crate::scope::{Operation, TARGET};
use crate::stop::Cause;
use crate::time::{Budget, Deadline, SHORTEST, Short, nanos};

/// What the head says.
pub(super) struct Received {
    pub(super) exchange: Exchange,
    /// The request is to be refused without a run.
    pub(super) refused: Option<Box<Refusal>>,
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
    #[inline]
    pub(super) fn of<B>(shared: &Arc<Shared>, request: &mut Request<B>) -> Self {
        // A layer further out has been here: one request, one id, and its deadline holds.
        let outer = request.extensions().get::<Context>().cloned();
        let outer = outer.unwrap_or(Context::none());
        let form = Form {
            is_post: *request.method() == Method::POST,
            has_connection: request.version() < Version::HTTP_2,
        };
        let received = Self::read(shared, form, request.headers_mut(), outer);
        let cx = received.exchange.cx.clone();
        request.extensions_mut().insert(cx);
        received
    }

    /// The part of it that is the same for all bodies.
    fn read(shared: &Arc<Shared>, form: Form, headers: &mut HeaderMap, outer: Context) -> Self {
        let arrived = Deadline::now();
        let policy = &shared.policy;
        let known = outer.request_id();
        let head = Head::of(headers);
        let identity = match known.or_else(|| head.id(headers)) {
            Some(id) => Identity::Taken(id),
            None => Identity::made(&shared.ids),
        };
        let mode = policy.mode_of(|| identity.text());
        let mut terms = Terms::default();
        if form.is_post {
            terms.grpc = head.grpc();
        }
        let inherited = || outer.node().and_then(|node| node.tracker());
        let tracker = shared.tracker.as_ref().or_else(inherited);
        let mut refused = None;
        let mut overrides = None;
        let mut attempt = None;
        let mut started = arrived;
        let mut grant = None;
        let mut end = None;
        if mode != Mode::Off {
            let mut asked = Asked::of(policy, &head, headers, terms.grpc.is_some());
            if let Some(malformed) = asked.malformed {
                refused = unreadable(shared, malformed, mode, &mut terms, &identity);
            }
            overrides = policy.overriding().and_then(Overrides::table);
            let granted = Granted::of(shared, &mut asked, overrides.as_deref());
            if let Some(header) = asked.skewed {
                shared.skewed(header, identity.text());
            }
            terms.source = granted.source;
            terms.would = terms.would.or(granted.would);
            started = arrived.sooner(nanos(asked.queued));
            if terms.grpc.is_some() {
                terms.total = asked.time.map(|(time, _)| started.plus(time));
            }
            let own = started.plus(granted.time);
            end = Some(match outer.deadline() {
                Some(outer) if outer < own => {
                    terms.source = Source::Outer;
                    outer
                }
                _ => own,
            });
            grant = Some(granted);
            attempt = outer.attempt().or(asked.attempt);
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
        let further = (tracker.is_some() || overrides.is_some()).then(|| {
            Box::new(OfRequest {
                tracker: tracker.cloned(),
                overrides,
                ..OfRequest::default()
            })
        });
        let reports = mode != Mode::Off && policy.reports();
        let unusual;
        let operation = match &grant {
            None => &shared.unlimited,
            Some(granted) if granted.time == shared.usual.granted.time => &shared.usual.operation,
            Some(granted) => {
                unusual = granted.operation(shared);
                &unusual
            }
        };
        let seed = Seed {
            operation: *operation,
            limits: Limits::of(end, operation.figures.kept),
            limit: operation.limit(),
            own: false,
            started,
            mode,
            depth: 0,
            of_scope: false,
        };
        let node = Node::identified(&seed, Some(identity.id()), reports, further);
        if let Some(attempt) = attempt {
            node.set_attempt(attempt);
        }
        let cx = Context::from_node(node);
        let open = shared.shutdown.as_ref().map(|all| all.let_in(&cx));
        if let Some(None) = open {
            let closes = form.has_connection;
            refused = Some(Box::new(Refusal::Shutdown { closes }));
        }
        if mode.propagates() {
            let forgets = policy.trusts() == Trust::Ignore && head.is_of_caller();
            rewrite(headers, &identity, forgets);
        }
        let exchange = Exchange::new(shared.clone(), cx, outer, terms, open.flatten());
        Self { exchange, refused }
    }
}

/// What of the first line matters.
#[derive(Clone, Copy)]
struct Form {
    is_post: bool,
    /// To be closed by a header.
    has_connection: bool,
}

/// Which request it is.
enum Identity {
    Taken(Arc<str>),
    Made(Drawn, [u8; 32]),
}

impl Identity {
    #[inline]
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Granted {
    time: Duration,
    source: Source,
    reserve: Duration,
    /// What the run would be refused for where nothing is refused. Where it is, the run finds out itself.
    would: Option<Cause>,
}

impl Granted {
    #[inline]
    fn of(shared: &Shared, asked: &mut Asked, overrides: Option<&Table>) -> Self {
        if asked.time.is_none() && asked.queued.is_zero() && overrides.is_none() {
            return shared.usual.granted;
        }
        let overriding = overrides.and_then(|table| table.of_boundary(shared.operation));
        let grant = |asked: &Asked| Self::by(&shared.policy, asked.time, overriding, asked.queued);
        let granted = grant(asked);
        if granted.would.is_some() {
            asked.disbelieve();
            return grant(asked);
        }
        granted
    }

    #[inline]
    fn by(
        policy: &Policy,
        asked: Option<(Duration, Said)>,
        overriding: Option<Duration>,
        queued: Duration,
    ) -> Self {
        let (time, source) = policy.granted(asked, overriding);
        let reserve = policy.reserve_of(time);
        Self {
            time,
            source,
            reserve,
            would: too_little(time, queued, reserve, policy.least()),
        }
    }

    #[inline]
    fn operation(&self, shared: &Shared) -> Operation {
        let budget = Budget::new(self.time)
            .reserve(self.reserve)
            .min(shared.policy.least());
        Operation::new(shared.operation, shared.location, budget)
    }
}

/// What a request may take whose caller says nothing, worked out once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    granted: Granted,
    operation: Operation,
}

impl Usual {
    pub(super) fn of(
        operation: &'static str,
        location: &'static Location<'static>,
        policy: &Policy,
    ) -> Self {
        let granted = Granted::by(policy, None, None, Duration::ZERO);
        let budget = Budget::new(granted.time)
            .reserve(granted.reserve)
            .min(policy.least());
        Self {
            granted,
            operation: Operation::new(operation, location, budget),
        }
    }
}

#[inline]
fn too_little(
    granted: Duration,
    queued: Duration,
    reserve: Duration,
    least: Duration,
) -> Option<Cause> {
    let left = nanos(granted).saturating_sub(nanos(queued));
    if left == 0 {
        return Some(Cause::DeadlineExceeded);
    }
    let least = nanos(least.max(SHORTEST));
    (left.saturating_sub(nanos(reserve)) < least).then_some(Cause::LocalBudgetRejected)
}

/// Makes the head what the service below is to see.
#[inline]
fn rewrite(headers: &mut HeaderMap, identity: &Identity, forgets: bool) {
    if forgets {
        forget(headers);
    }
    if let Identity::Made(_, digits) = identity
        && let Ok(id) = HeaderValue::from_bytes(digits)
    {
        headers.insert(REQUEST_ID, id);
    }
}

/// What becomes of a request whose deadline cannot be read.
#[cold]
fn unreadable(
    shared: &Shared,
    malformed: codec::Malformed,
    mode: Mode,
    terms: &mut Terms,
    identity: &Identity,
) -> Option<Box<Refusal>> {
    match shared.policy.on_malformed() {
        Malformed::Reject => {
            terms.would = Some(Cause::BadDeadline);
            let refusal = || Box::new(Refusal::Malformed(malformed));
            mode.enforces().then(refusal)
        }
        Malformed::Default => {
            tracing::debug!(
                target: TARGET,
                cause = Cause::BadDeadline.as_str(),
                header = malformed.header(),
                op = shared.operation,
                request_id = identity.text(),
                "unreadable, the default counts"
            );
            None
        }
    }
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
