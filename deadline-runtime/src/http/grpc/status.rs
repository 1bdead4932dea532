//! Stops as statuses of tonic's, and back.

use std::sync::Arc;

use ::tonic::metadata::{MetadataMap, MetadataValue};
use ::tonic::{Code, Status};

use super::code;
use crate::http::client::{Outgoing, judged};
use crate::stop::{Cause, Details, Phase, Sent, Stopped};

/// The metadata of [`DEADLINE_CAUSE`](crate::http::header::DEADLINE_CAUSE).
const CAUSE: &str = "x-deadline-cause";

impl From<Stopped> for Status {
    /// The code of the cause (see [`code`]), its word as the message, and `x-deadline-cause` in the metadata, so that a
    /// caller can tell our end from any other. The text of the stop stays here, as the source: it names operations and
    /// source files.
    fn from(stopped: Stopped) -> Self {
        let cause = stopped.cause();
        let mut metadata = MetadataMap::new();
        let word = MetadataValue::from_static(cause.as_str());
        metadata.insert(CAUSE, word);
        let code = Code::from_i32(i32::from(code(cause)));
        let mut status = Self::with_metadata(code, cause.as_str(), metadata);
        status.set_source(Arc::new(stopped));
        status
    }
}

impl From<Status> for Stopped {
    /// [`into_stopped`](StatusExt::into_stopped), and `dependency_failed` for a status that is an answer, or our own stop
    /// when our time is over by then: for functions whose only error is a stop. The status is the [`source`](std::error::Error::source).
    #[track_caller]
    fn from(status: Status) -> Self {
        let outgoing = Outgoing::here();
        status.into_stopped().unwrap_or_else(|status| {
            let sent = outgoing.received();
            // A peer's handler that hands its own expiry on as any error, as is usual in Go, is heard at our end as UNKNOWN.
            let cause = judged(Cause::DependencyFailed, &outgoing.cx);
            sent.stop(cause, Phase::Response).with_source(status)
        })
    }
}

/// Reads a stop from the status of a call.
pub trait StatusExt: Sized {
    /// The stop that a status is; itself, if it is an answer like `NOT_FOUND`.
    ///
    /// The clock decides before the code does, because at the deadline both ends give up and either may be heard first:
    ///
    /// | status | our own time is over | it is not |
    /// |---|---|---|
    /// | made here by a stop of ours | that stop | that stop |
    /// | with `x-deadline-cause` | `deadline_exceeded`, or why we were cancelled | `dependency_timeout` or `dependency_failed`, by the word |
    /// | `DEADLINE_EXCEEDED` (4) | the same | `dependency_timeout` |
    /// | `CANCELLED` (1), `UNAVAILABLE` (14) | the same | `dependency_failed` |
    /// | any other | an answer | an answer |
    ///
    /// # Errors
    /// The status, when it is not a stop.
    ///
    /// ```
    /// use deadline_runtime::Cause;
    /// use deadline_runtime::http::grpc::StatusExt as _;
    /// use tonic::Status;
    ///
    /// let stopped = Status::deadline_exceeded("").into_stopped().unwrap();
    /// assert_eq!(stopped.cause(), Cause::DependencyTimeout);
    /// assert!(Status::not_found("user 7").into_stopped().is_err());
    /// ```
    fn into_stopped(self) -> Result<Stopped, Self>;
}

impl StatusExt for Status {
    #[track_caller]
    fn into_stopped(self) -> Result<Stopped, Self> {
        if let Some(stopped) = Stopped::find(&self) {
            let sent = stopped.sent();
            let again = Stopped::new(Details::of(stopped.brief())).with_sent(sent);
            return Ok(again.with_source(self));
        }
        let outgoing = Outgoing::here();
        let word = self.metadata().get(CAUSE);
        let theirs = word.and_then(|word| Cause::from_word(word.to_str().ok()?));
        let cause = match (theirs, self.code()) {
            (Some(theirs), _) => judged(theirs, &outgoing.cx),
            (None, Code::DeadlineExceeded) => judged(Cause::DeadlineExceeded, &outgoing.cx),
            (None, Code::Cancelled | Code::Unavailable) => {
                judged(Cause::DependencyFailed, &outgoing.cx)
            }
            (None, _) => return Err(self),
        };
        let sent = Sent::of(&self);
        let phase = match sent {
            Sent::NotSent => Phase::Connect,
            Sent::Unknown => Phase::Response,
        };
        let stopped = outgoing.received().stop(cause, phase);
        Ok(stopped.with_sent(sent).with_source(self))
    }
}
