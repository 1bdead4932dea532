//! How a stop is handed to a client of another crate: as an error in a box that it understands.

use crate::stop::Stopped;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// gRPC clients look for a status, and take every other error for `UNKNOWN`.
pub(super) fn boxed(stopped: Stopped, is_grpc: bool) -> BoxError {
    #[cfg(feature = "tonic")]
    if is_grpc {
        return ::tonic::Status::from(stopped).into();
    }
    let _ = is_grpc;
    stopped.into()
}

/// Whether a client has ended a call by a clock of its own.
pub(super) fn is_timeout(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        #[cfg(feature = "tonic")]
        if error.downcast_ref::<::tonic::TimeoutExpired>().is_some() {
            return true;
        }
        next = error.source();
    }
    false
}
