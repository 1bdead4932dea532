//! An [`Admission`](crate::admission::Admission) in front of an HTTP service.

mod body;
mod future;
mod layer;

pub use self::body::AdmittedBody;
pub use self::future::AdmittedFuture;
pub use self::layer::{AdmissionLayer, Admitted};
