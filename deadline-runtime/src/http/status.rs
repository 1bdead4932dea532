//! From a cause to an HTTP status.

use ::http::StatusCode;

use crate::stop::Cause;

/// The status with which a stop is answered.
///
/// | cause | status |
/// |---|---|
/// | `deadline_exceeded`, `dependency_timeout`, `local_budget_rejected` | 504 |
/// | `overload`, `shutdown`, `user_cancelled` | 503 |
/// | `dependency_failed`, `sibling_failed` | 502 |
/// | `client_cancelled`, `abandoned` | 499, which only logs see |
/// | `bad_deadline` | 400 |
/// | `superseded`, `parent_failed` | 500: they end work inside a request and are not an answer |
///
/// A deadline that passes while the client is still sending its body is answered 408 by the layer, because then it was
/// the client that was slow.
///
/// ```
/// use deadline_runtime::Cause;
/// use deadline_runtime::http::status;
///
/// assert_eq!(status(Cause::DependencyTimeout), 504);
/// ```
#[must_use]
pub fn status(cause: Cause) -> StatusCode {
    match cause {
        Cause::DeadlineExceeded | Cause::DependencyTimeout | Cause::LocalBudgetRejected => {
            StatusCode::GATEWAY_TIMEOUT
        }
        Cause::Overload | Cause::Shutdown | Cause::UserCancelled => StatusCode::SERVICE_UNAVAILABLE,
        Cause::DependencyFailed | Cause::SiblingFailed => StatusCode::BAD_GATEWAY,
        // The number proxies log for a client that has gone; `http` has no constant for it.
        Cause::ClientCancelled | Cause::Abandoned => {
            StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST)
        }
        Cause::BadDeadline => StatusCode::BAD_REQUEST,
        Cause::Superseded | Cause::ParentFailed => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
