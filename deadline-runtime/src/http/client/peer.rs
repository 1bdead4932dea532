//! Reading why a peer stopped.

use ::http::{HeaderMap, Response};

use super::outgoing::Outgoing;
use crate::context::Context;
use crate::http::header::DEADLINE_CAUSE;
use crate::stop::{Cause, Phase, Stopped};

/// What a peer's `x-deadline-cause` means to us.
///
/// The clock decides before the peer does: an answer that comes when our own time is over reports our own end. Before
/// that, a peer that had too little time or used it up is a dependency that was too slow, and one that stopped for any
/// other reason is a dependency that failed.
pub(in crate::http) fn reported(headers: &HeaderMap, cx: &Context) -> Option<Cause> {
    let word = headers.get(DEADLINE_CAUSE)?.to_str().ok()?;
    Cause::from_word(word).map(|theirs| judged(theirs, cx))
}

/// What a peer's cause is to us: our own end, once our time is over.
pub(in crate::http) fn judged(theirs: Cause, cx: &Context) -> Cause {
    match (cx.cause(), theirs) {
        (Some(ours), _) => ours,
        (None, Cause::DeadlineExceeded | Cause::DependencyTimeout | Cause::LocalBudgetRejected) => {
            Cause::DependencyTimeout
        }
        (None, _) => Cause::DependencyFailed,
    }
}

/// Reads a peer's stop from its answer.
///
/// ```
/// use deadline_runtime::{Cause, http::ResponseExt};
///
/// # fn main() -> Result<(), http::Error> {
/// let answer = http::Response::builder()
///     .status(504)
///     .header("x-deadline-cause", "deadline_exceeded")
///     .body(())?;
/// let stopped = answer.error_for_stop().unwrap_err();
/// assert_eq!(stopped.cause(), Cause::DependencyTimeout);
///
/// // A 504 that is not ours stays an answer.
/// let proxys = http::Response::builder().status(504).body(())?;
/// assert!(proxys.error_for_stop().is_ok());
/// # Ok(())
/// # }
/// ```
pub trait ResponseExt: Sized {
    /// The answer, unless the peer says in `x-deadline-cause` that it was stopped.
    ///
    /// # Errors
    /// [`Stopped`] with `deadline_exceeded` when the calling context is itself over by now, with `dependency_timeout`
    /// when it is not and the peer ran out of time, with `dependency_failed` when the peer stopped for another reason.
    fn error_for_stop(self) -> Result<Self, Stopped>;
}

impl<B> ResponseExt for Response<B> {
    #[track_caller]
    fn error_for_stop(self) -> Result<Self, Stopped> {
        stop_of(self.headers()).map_or(Ok(self), Err)
    }
}

#[track_caller]
pub(in crate::http) fn stop_of(headers: &HeaderMap) -> Option<Stopped> {
    if !headers.contains_key(DEADLINE_CAUSE) {
        return None;
    }
    let outgoing = Outgoing::here();
    let cause = reported(headers, &outgoing.cx)?;
    Some(outgoing.received().stop(cause, Phase::Response))
}
