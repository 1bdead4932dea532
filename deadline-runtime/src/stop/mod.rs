//! Why work stopped, and how a return type carries it.

mod carry;
mod cause;
mod error;

pub use self::carry::FromStopped;
pub use self::cause::{Cause, Phase};
pub(crate) use self::error::{Brief, Details, PathEntry};
pub use self::error::{Limit, Stopped};
