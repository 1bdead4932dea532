//! From a request head to a root context.

use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderValue, Request};

use super::exchange::Exchange;
use super::layer::Shared;
use crate::context::{Context, Mode, RootBuilder};
use crate::http::codec::{self, relative};
use crate::http::header::{REQUEST_ID, REQUEST_TIMEOUT_MS};
use crate::http::policy::{Malformed, Trust};
use crate::http::request_id;
use crate::scope::TARGET;
use crate::stop::Cause;
use crate::time::{Budget, Deadline};

/// What the head says.
pub(super) struct Admission {
    pub(super) exchange: Exchange,
    /// The request is to be refused without a run.
    pub(super) refused: Option<codec::Malformed>,
}

impl Admission {
    /// Reads the head, and makes it what the service below is to see.
    pub(super) fn of<B>(shared: &Arc<Shared>, request: &mut Request<B>) -> Self {
        let started = Deadline::now();
        let policy = &shared.policy;
        // A layer further out has been here: one request, one id, and its deadline holds.
        let outer = request.extensions().get::<Context>().cloned();
        let known = outer.as_ref().and_then(Context::request_id);
        let (id, fresh) = match known.or_else(|| request_id::taken(request.headers())) {
            Some(id) => (id, false),
            None => (request_id::made(), true),
        };
        let mode = policy.mode_of(&id);
        let mut root = RootBuilder::new(shared.operation, shared.location)
            .started(started)
            .mode(mode)
            .request_id(id.clone());
        let outer_node = outer.as_ref().and_then(Context::node);
        let inherited = outer_node.and_then(|node| node.tracker());
        if let Some(tracker) = shared.tracker.as_ref().or(inherited) {
            root = root.tracker(tracker);
        }
        if let Some(end) = outer.as_ref().and_then(Context::deadline) {
            root = root.deadline(end);
        }
        let mut refused = None;
        let mut would = None;
        if mode != Mode::Off {
            let asked = match policy.trusts() {
                Trust::Ignore => Ok(None),
                Trust::ShortenOnly | Trust::Full => relative::from_headers(request.headers()),
            };
            match (&asked, policy.on_malformed()) {
                (Ok(_), _) => {}
                (Err(malformed), Malformed::Reject) => {
                    refused = mode.enforces().then_some(*malformed);
                    would = Some(Cause::BadDeadline);
                }
                (Err(malformed), Malformed::Default) => tracing::debug!(
                    target: TARGET,
                    cause = Cause::BadDeadline.as_str(),
                    header = malformed.header(),
                    op = shared.operation,
                    request_id = &*id,
                    "unreadable, the default counts"
                ),
            }
            let granted = policy.granted(asked.unwrap_or(None));
            let reserve = policy.reserve_of(granted);
            would = would.or_else(|| too_little(granted, reserve, policy.least()));
            let budget = Budget::new(granted).reserve(reserve).min(policy.least());
            root = root.budget(budget).report(policy.reports());
        }
        let cx = root.build();
        if mode.propagates() {
            let headers = request.headers_mut();
            if policy.trusts() == Trust::Ignore {
                headers.remove(REQUEST_TIMEOUT_MS);
            }
            if fresh && let Ok(id) = HeaderValue::from_str(&id) {
                headers.insert(REQUEST_ID, id);
            }
        }
        request.extensions_mut().insert(cx.clone());
        let exchange = Exchange::new(shared.clone(), cx, outer, would);
        Self { exchange, refused }
    }
}

/// What the run would be refused for where nothing is refused. Where it is, the run finds out itself.
fn too_little(granted: Duration, reserve: Duration, least: Duration) -> Option<Cause> {
    if granted.is_zero() {
        return Some(Cause::DeadlineExceeded);
    }
    let least = least.max(Duration::from_millis(1));
    (granted.saturating_sub(reserve) < least).then_some(Cause::LocalBudgetRejected)
}
