//! How a scope's end is made visible: one event, and a line in the request's report.

use std::sync::Arc;
use std::time::Duration;

use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::operation::Operation;
use super::state::{Flag, State, Unenforced};
use crate::context::node::Node;
use crate::context::{Mode, Outcome, ScopeRecord};
use crate::stop::{Brief, Cause, Phase, Stopped};
use crate::time::{Deadline, Short};

/// The target of every event of this crate.
pub(crate) const TARGET: &str = "deadline";

#[derive(Clone, Copy)]
pub(crate) enum Ended<'a> {
    Value,
    Stopped(&'a Stopped),
    Dropped(Cause),
}

/// A scope that runs without any limit: counted in its request and told in an event that a metrics layer can count,
/// because it is what the crate exists to find.
pub(super) fn unbounded(operation: &Operation, node: Option<&Arc<Node>>) {
    if let Some(node) = node {
        node.records().unbounded();
    }
    tracing::debug!(target: TARGET, op = operation.name, file = operation.location.file(), line = operation.location.line(), "no deadline in scope");
}

/// Writes down how a scope ended. Mostly nobody listens, and that is found out first.
#[inline]
pub(super) fn record(state: &State, ended: Ended<'_>) {
    let node = state.node.as_ref();
    if let (Ended::Stopped(stopped), Some(node)) = (&ended, node)
        && node.mode != Mode::Off
    {
        node.note_stop(stopped);
    }
    if is_noted(state) {
        write_down(state, ended);
    }
}

/// Whether anybody might want to know how a scope ended.
#[inline]
pub(super) fn is_noted(state: &State) -> bool {
    let least = if state.depth == 0 {
        LevelFilter::INFO
    } else {
        LevelFilter::DEBUG
    };
    LevelFilter::current() >= least || state.node.as_ref().is_some_and(|node| node.reports)
}

/// The clock is read only if somebody listens.
#[inline(never)]
fn write_down(state: &State, ended: Ended<'_>) {
    let mode = state.mode();
    if mode == Mode::Off {
        return;
    }
    let node = state.node.as_ref();
    let outermost = state.depth == 0;
    // Running something under the context of a running scope is not another scope.
    if state.flags.has(Flag::Again) {
        return;
    }
    // A stop inside ends a request also when the outermost scope turns it into a value: mostly an error.
    let inside = match (&ended, node) {
        (Ended::Value, Some(node)) if outermost => node.stop_of_request(),
        _ => None,
    };
    let recorder = node.and_then(Node::recorder);
    let quiet = matches!(ended, Ended::Value) && inside.is_none() && mode.enforces();
    let listened = if state.flags.has(Flag::Quiet) {
        false
    } else if outermost && !quiet {
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
    let outcome = match &ended {
        Ended::Stopped(stopped) => Outcome::Stopped(stopped.cause()),
        Ended::Dropped(cause) => Outcome::Stopped(*cause),
        Ended::Value => of_a_value(state, now),
    };
    let operation = state.description();
    if let Some((records, origin)) = recorder {
        if let (true, Some(node)) = (outermost, node) {
            node.ended(now);
        }
        records.scope(ScopeRecord {
            operation: operation.name,
            depth: usize::from(state.depth),
            started: started.since(origin),
            elapsed,
            granted,
            outcome,
        });
    }
    if !listened {
        return;
    }
    let line = match (&ended, inside) {
        (Ended::Stopped(stopped), _) => Some(stopped.brief()),
        (Ended::Dropped(cause), _) => Some(Brief {
            cause: *cause,
            phase: Phase::Wait,
            ..state.would_be()
        }),
        (Ended::Value, Some(stop))
            if node.is_some_and(|node| node.is_over(state.limits().soft, now)) =>
        {
            Some(stop)
        }
        (Ended::Value, _) => match outcome {
            Outcome::WouldStop(_) => Some(state.would_be()),
            Outcome::WouldRefuse(_) => Some(Brief {
                cause: Cause::LocalBudgetRejected,
                phase: Phase::Start,
                ..state.would_be()
            }),
            _ => None,
        },
    };
    // One a request, whichever of its outermost scopes is the first.
    let loud = outermost && line.is_some() && node.is_none_or(Node::first_to_tell);
    let event = Event {
        state,
        line,
        outcome,
        elapsed,
        granted,
    };
    if loud {
        event.info();
    } else if tracing::enabled!(target: TARGET, Level::DEBUG) {
        event.debug();
    }
}

/// What a scope that ended with a value did to its limit.
fn of_a_value(state: &State, now: Deadline) -> Outcome {
    let late = state.hard.map(|hard| now.since(hard)).unwrap_or_default();
    match state.unenforced {
        Unenforced::Nothing => {}
        Unenforced::WouldRefuse => {
            let has = state.hard.zip(state.started);
            let has = has.map_or(Duration::ZERO, |(hard, started)| hard.since(started));
            return Outcome::WouldRefuse(state.needs().saturating_sub(has));
        }
        unenforced => {
            let cancelled = state.node.as_ref().and_then(|node| node.signal.get());
            let end = Deadline::earlier(
                state.work_end(state.limits().soft),
                cancelled.map(|(_, at)| at),
            );
            let over = end.map(|end| now.since(end)).unwrap_or_default();
            if unenforced == Unenforced::BeganLate || !over.is_zero() {
                return Outcome::WouldStop(over);
            }
        }
    }
    if late.is_zero() {
        Outcome::Completed
    } else {
        Outcome::Late(late)
    }
}

struct Event<'a> {
    state: &'a State,
    line: Option<Brief>,
    outcome: Outcome,
    elapsed: Duration,
    granted: Option<Duration>,
}

macro_rules! emit {
    ($event:expr, $level:expr) => {{
        let this = $event;
        let operation = this.state.description();
        let budget = this.granted.map(|granted| Short(granted).to_string());
        let request_id = this.state.node.as_ref().and_then(|node| node.request_id());
        let late_by = match this.outcome {
            Outcome::Late(by) | Outcome::WouldStop(by) => Short(by).to_string(),
            _ => String::new(),
        };
        let limit = this.line.map_or(operation.limit(), |stop| stop.limit);
        tracing::event!(
            target: TARGET,
            $level,
            cause = this.line.map_or("", |stop| stop.cause.as_str()),
            phase = this.line.map_or("", |stop| stop.phase.as_str()),
            op = this.line.map_or(operation.name, |stop| stop.operation),
            limited_by = this.line.map_or("", |stop| stop.limit.operation()),
            file = limit.location().file(),
            line = limit.location().line(),
            budget = budget.as_deref().unwrap_or("unlimited"),
            elapsed = Short(this.elapsed).to_string(),
            late_by,
            request_id = request_id.as_deref().unwrap_or(""),
            "{}",
            this.outcome
        )
    }};
}

impl Event<'_> {
    fn info(&self) {
        emit!(self, Level::INFO);
    }

    fn debug(&self) {
        emit!(self, Level::DEBUG);
    }
}
