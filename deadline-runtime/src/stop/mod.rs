//! Why work stopped, and how a return type carries it.

mod carry;
mod cause;
mod error;
mod sent;

pub use self::carry::FromStopped;
pub use self::cause::{Cause, Phase};
pub(crate) use self::error::{Brief, Details, PathEntry};
pub use self::error::{Limit, Stopped};
pub use self::sent::Sent;
