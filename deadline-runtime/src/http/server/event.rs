//! The one event of a stopped request.

use std::time::Duration;

use crate::context::Context;
use crate::http::policy::Source;
use crate::scope::TARGET;
use crate::stop::Brief;
use crate::time::Short;

/// How a request ended that did not just answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict {
    Stopped,
    /// Nothing is enforced: it would have been stopped, and went on for this long.
    WouldStop(Duration),
}

/// Everything in it is ours, except the request id, which is bounded and visible: no header, no path, no query and no
/// body of a request ever stands in an event.
pub(super) fn emit(cx: &Context, stop: &Brief, source: Source, verdict: Verdict) {
    if !tracing::enabled!(target: TARGET, tracing::Level::INFO) {
        return;
    }
    let late_by = match verdict {
        Verdict::Stopped => String::new(),
        Verdict::WouldStop(by) => Short(by).to_string(),
    };
    let message = match verdict {
        Verdict::Stopped => "stopped",
        Verdict::WouldStop(_) => "would stop",
    };
    let budget = stop.budget.map_or_else(
        || "unlimited".to_owned(),
        |budget| Short(budget).to_string(),
    );
    let elapsed = Short(stop.elapsed).to_string();
    let location = stop.limit.location();
    tracing::info!(
        target: TARGET,
        cause = stop.cause.as_str(),
        phase = stop.phase.as_str(),
        op = stop.operation,
        limited_by = stop.limit.operation(),
        file = location.file(),
        line = location.line(),
        granted_by = source.as_str(),
        budget,
        elapsed,
        late_by,
        request_id = cx.request_id().as_deref().unwrap_or(""),
        "{message}: {}",
        stop.cause
    );
}
