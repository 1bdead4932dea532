//! The payment provider: somebody else's service, that takes one key only once and that can be slow, fail and lose its answer.

mod client;
mod fake;

pub use self::client::Provider;
pub use self::fake::{Fake, Mood};
