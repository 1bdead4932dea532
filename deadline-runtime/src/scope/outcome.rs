//! How a scope's end is made visible: one event, and a line in the request's report.

use std::sync::Arc;

use tracing::Level;

use super::life::State;
use super::operation::Operation;
use crate::context::node::Node;
use crate::context::{Outcome, ScopeRecord};
use crate::stop::{Cause, Stopped};
use crate::time::{Deadline, Short};

/// The target of every event of this crate.
pub(crate) const TARGET: &str = "deadline";

pub(crate) enum Ended<'a> {
    Value,
    Stopped(&'a Stopped),
    Dropped(Cause),
}

/// A scope that ran without any limit: counted, because it is what the crate exists to find.
pub(super) fn unbounded(operation: &Operation, node: Option<&Arc<Node>>) {
    if let Some(node) = node {
        node.records().unbounded();
    }
    tracing::debug!(target: TARGET, op = operation.name, file = operation.location.file(), line = operation.location.line(), "no deadline in scope");
}

/// Writes down how a scope ended. The clock is read only if somebody listens.
pub(super) fn record(state: &State, ended: Ended<'_>) {
    let depth = usize::from(state.depth());
    let stop = match &ended {
        Ended::Value => None,
        Ended::Stopped(stopped) => Some(stopped.cause()),
        Ended::Dropped(cause) => Some(*cause),
    };
    if let (Ended::Stopped(stopped), Some(node)) = (&ended, &state.node) {
        node.note_stop(stopped);
    }
    // Running something under the context of a running scope is not another scope.
    let by_hand = state.operation.is_none();
    if by_hand && state.node.as_ref().is_some_and(|node| node.of_scope) {
        return;
    }
    let recorder = state.node.as_ref().and_then(|node| node.recorder());
    // The event of a stop that nobody is around to receive belongs to the request.
    let loud = stop.is_some() && depth == 0 && !state.flags.quiet;
    let listened = if loud {
        tracing::enabled!(target: TARGET, Level::INFO)
    } else {
        tracing::enabled!(target: TARGET, Level::DEBUG)
    };
    if recorder.is_none() && !listened {
        return;
    }
    let now = match ended {
        Ended::Dropped(_) => Deadline::now_if_any(),
        Ended::Value | Ended::Stopped(_) => Some(Deadline::now()),
    };
    let Some(now) = now else { return };
    let started = state.started.unwrap_or(now);
    let elapsed = now.since(started);
    let granted = state.hard.map(|hard| hard.since(started));
    // What is not enforced would have ended with its work, which leaves the reserve unused.
    let limit = if state.mode().enforces() {
        state.hard
    } else {
        state.work_end()
    };
    let over = limit.map(|limit| now.since(limit)).unwrap_or_default();
    let outcome = match stop {
        Some(cause) => Outcome::Stopped(cause),
        None if over.is_zero() => Outcome::Completed,
        None if state.mode().enforces() => Outcome::Late(over),
        None => Outcome::WouldStop(over),
    };
    let operation = state.description();
    if let Some((records, origin)) = recorder {
        if let (true, Some(node)) = (by_hand, &state.node) {
            node.ended(now);
        }
        records.scope(ScopeRecord {
            operation: operation.name,
            depth,
            started: started.since(origin),
            elapsed,
            granted,
            outcome,
        });
    }
    if listened {
        event(state, &ended, loud, &outcome, elapsed, granted);
    }
}

fn event(
    state: &State,
    ended: &Ended<'_>,
    loud: bool,
    outcome: &Outcome,
    elapsed: std::time::Duration,
    granted: Option<std::time::Duration>,
) {
    let operation = state.description();
    let budget = granted.map(|granted| Short(granted).to_string());
    let budget = budget.as_deref().unwrap_or("unlimited");
    let elapsed = Short(elapsed).to_string();
    let request_id = state.node.as_ref().and_then(|node| node.request_id());
    let request_id = request_id.as_deref().unwrap_or("");
    let late_by = match outcome {
        Outcome::Late(by) | Outcome::WouldStop(by) => Short(*by).to_string(),
        Outcome::Completed | Outcome::Stopped(_) => String::new(),
    };
    macro_rules! emit {
        ($level:expr, $cause:expr, $phase:expr, $limit:expr, $location:expr) => {
            tracing::event!(
                target: TARGET,
                $level,
                cause = $cause,
                phase = $phase,
                op = operation.name,
                limited_by = $limit,
                file = $location.file(),
                line = $location.line(),
                budget,
                elapsed,
                late_by,
                request_id,
                "{outcome}"
            )
        };
    }
    match ended {
        Ended::Stopped(stopped) => {
            let (cause, phase, limit) = (
                stopped.cause().as_str(),
                stopped.phase().as_str(),
                stopped.limited_by().operation,
            );
            let location = stopped.limited_by().location;
            if loud {
                emit!(Level::INFO, cause, phase, limit, location);
            } else {
                emit!(Level::DEBUG, cause, phase, limit, location);
            }
        }
        Ended::Dropped(cause) => {
            if loud {
                emit!(
                    Level::INFO,
                    cause.as_str(),
                    "wait",
                    operation.name,
                    operation.location
                );
            } else {
                emit!(
                    Level::DEBUG,
                    cause.as_str(),
                    "wait",
                    operation.name,
                    operation.location
                );
            }
        }
        Ended::Value => emit!(Level::DEBUG, "", "", "", operation.location),
    }
}
