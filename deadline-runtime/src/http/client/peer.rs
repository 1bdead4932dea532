//! Reading why a peer stopped.

use ::http::{HeaderMap, Response, StatusCode};

use super::outgoing::Outgoing;
use super::unavailable::Unavailable;
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

    /// The answer, unless it says that the same request may succeed later: 429, 502, 503 or 504.
    ///
    /// With the feature `retry` the error is worth another attempt, and its `Retry-After` replaces the wait:
    ///
    /// ```no_run
    /// # #[cfg(all(feature = "retry", feature = "reqwest"))] mod it {
    /// use deadline_runtime::http::{RequestBuilderExt as _, ResponseExt as _};
    /// use deadline_runtime::retry::Retry;
    /// use deadline_runtime::{Stopped, deadline};
    ///
    /// #[deadline(budget = "900ms", reserve = "50ms")]
    /// async fn profile(client: &reqwest::Client) -> Result<reqwest::Response, Stopped> {
    ///     Retry::idempotent("profile")
    ///         .run(|_| async {
    ///             let answer = client.get("http://profile/42").send_within_deadline().await?;
    ///             Ok(answer.error_for_unavailable()?)
    ///         })
    ///         .await
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Unavailable`]; `?` makes a [`Stopped`] with `dependency_failed` of it where that is the function's error.
    fn error_for_unavailable(self) -> Result<Self, Unavailable>;
}

impl<B> ResponseExt for Response<B> {
    #[track_caller]
    fn error_for_stop(self) -> Result<Self, Stopped> {
        stop_of(self.status(), self.headers()).map_or(Ok(self), Err)
    }

    fn error_for_unavailable(self) -> Result<Self, Unavailable> {
        Unavailable::of(self.status(), self.headers()).map_or(Ok(self), Err)
    }
}

#[track_caller]
pub(in crate::http) fn stop_of(status: StatusCode, headers: &HeaderMap) -> Option<Stopped> {
    if !headers.contains_key(DEADLINE_CAUSE) {
        return None;
    }
    let outgoing = Outgoing::here();
    let cause = reported(headers, &outgoing.cx)?;
    let stopped = outgoing.received().stop(cause, Phase::Response);
    Some(told_to_come_back(stopped, status, headers))
}

/// Keeps what the peer says about coming back, for whoever repeats.
pub(in crate::http) fn told_to_come_back(
    stopped: Stopped,
    status: StatusCode,
    headers: &HeaderMap,
) -> Stopped {
    match Unavailable::of(status, headers) {
        Some(unavailable) => stopped.with_source(unavailable),
        None => stopped,
    }
}
