//! Why work stopped, and how a return type carries it.

mod carry;
mod cause;
mod error;
mod path;
mod sent;

pub use self::carry::FromStopped;
pub use self::cause::{Cause, Phase};
pub(crate) use self::error::{Brief, Details};
pub use self::error::{Limit, Stopped};
pub(crate) use self::path::{Path, PathEntry};
pub use self::sent::Sent;
