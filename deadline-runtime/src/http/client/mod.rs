//! The sending side: one tower layer, and what it shares with the reqwest extension.

mod body;
mod fault;
mod future;
mod hosts;
mod layer;
mod outgoing;
mod peer;
mod service;
mod unavailable;
mod warm;

pub use self::body::InboundBody;
pub use self::future::PropagateFuture;
pub use self::hosts::InternalHosts;
pub use self::layer::PropagateDeadlineLayer;
pub use self::peer::ResponseExt;
pub use self::service::PropagateDeadline;
pub use self::unavailable::Unavailable;

#[cfg(feature = "reqwest")]
pub(super) use self::outgoing::Call;
#[cfg(any(feature = "reqwest", feature = "tonic"))]
pub(super) use self::outgoing::Outgoing;
#[cfg(feature = "tonic")]
pub(super) use self::peer::judged;
#[cfg(feature = "reqwest")]
pub(super) use self::peer::{reported, stop_of, told_to_come_back};
#[cfg(feature = "reqwest-middleware")]
pub(super) use self::warm::Warm;
