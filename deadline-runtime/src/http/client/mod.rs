//! The sending side: one tower layer, and what it shares with the reqwest extension.

mod future;
mod hosts;
mod layer;
mod outgoing;
mod peer;
mod service;

pub use self::future::PropagateFuture;
pub use self::hosts::InternalHosts;
pub use self::layer::PropagateDeadlineLayer;
pub use self::peer::ResponseExt;
pub use self::service::PropagateDeadline;

#[cfg(feature = "reqwest")]
pub(super) use self::outgoing::Outgoing;
#[cfg(feature = "reqwest")]
pub(super) use self::peer::reported;
